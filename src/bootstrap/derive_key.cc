#include "bootstrap/derive_key.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>

namespace gyre {

JobKey derive_key(const JobKey& parent, std::string_view label) {
  std::array<std::uint8_t, 32> hash{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, parent.secret.data(), parent.secret.size(), hash.size());
  crypto_generichash_update(&state, parent.nonce.data(), parent.nonce.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(label.data()),
                            label.size());
  crypto_generichash_final(&state, hash.data(), hash.size());
  JobKey key;
  std::copy_n(hash.begin(), key.nonce.size(), key.nonce.begin());
  std::copy_n(hash.begin() + 16, key.secret.size(), key.secret.begin());
  return key;
}

}  // namespace gyre
