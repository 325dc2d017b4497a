// ncclParam*: the settings of this process, by the name of their environment variable. Values are
// those that the library goes by, with units worked out, whatever the environment says by now.
#include <fmt/format.h>

#include <concepts>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "abi/report.hpp"
#include "base/settings.hpp"

using namespace gyre;       // NOLINT(google-build-using-namespace): the exports speak of both
using namespace gyre::abi;  // NOLINT

namespace {

// A handle points at the setting's row, which lives as long as the process.
const SettingRow* row_of(ncclParamHandle_t handle) {
  return reinterpret_cast<const SettingRow*>(handle);
}

Result<const SettingRow*> find_row(const char* key) {
  if (key == nullptr) return Error{Status::invalid_argument, "key is NULL"};
  for (const SettingRow& row : setting_table()) {
    if (row.name == key) return &row;
  }
  return Error{Status::invalid_argument, fmt::format("{} is no setting of this library", key)};
}

Result<std::string> value_of(const SettingRow& row) {
  if (!settings()) return settings().error();
  return setting_text(row, *settings());
}

template <std::integral T>
ncclResult_t get_integer(std::string_view function, ncclParamHandle_t handle, T* out) {
  return guarded(function, [&]() -> Result<void> {
    if (handle == nullptr || out == nullptr) {
      return Error{Status::invalid_argument, "handle or out is NULL"};
    }
    const SettingRow& row = *row_of(handle);
    if (!settings()) return settings().error();
    const auto number = setting_number(row, *settings());
    if (!number || !std::in_range<T>(*number)) {
      return Error{Status::invalid_argument, fmt::format("{}={} does not fit the type asked for",
                                                         row.name, setting_text(row, *settings()))};
    }
    *out = static_cast<T>(*number);
    return {};
  });
}

}  // namespace

GYRE_EXPORTS(ncclParamBind);
ncclResult_t gyre_ncclParamBind(ncclParamHandle_t* out, const char* key) {
  return guarded("ncclParamBind", [&]() -> Result<void> {
    if (out == nullptr) return Error{Status::invalid_argument, "out is NULL"};
    GYRE_TRY_ASSIGN(const SettingRow* row, find_row(key));
    *out = reinterpret_cast<ncclParamHandle_t>(const_cast<SettingRow*>(row));
    return {};
  });
}

GYRE_EXPORTS(ncclParamGetI8);
ncclResult_t gyre_ncclParamGetI8(ncclParamHandle_t h, int8_t* out) {
  return get_integer("ncclParamGetI8", h, out);
}
GYRE_EXPORTS(ncclParamGetI16);
ncclResult_t gyre_ncclParamGetI16(ncclParamHandle_t h, int16_t* out) {
  return get_integer("ncclParamGetI16", h, out);
}
GYRE_EXPORTS(ncclParamGetI32);
ncclResult_t gyre_ncclParamGetI32(ncclParamHandle_t h, int32_t* out) {
  return get_integer("ncclParamGetI32", h, out);
}
GYRE_EXPORTS(ncclParamGetI64);
ncclResult_t gyre_ncclParamGetI64(ncclParamHandle_t h, int64_t* out) {
  return get_integer("ncclParamGetI64", h, out);
}
GYRE_EXPORTS(ncclParamGetU8);
ncclResult_t gyre_ncclParamGetU8(ncclParamHandle_t h, uint8_t* out) {
  return get_integer("ncclParamGetU8", h, out);
}
GYRE_EXPORTS(ncclParamGetU16);
ncclResult_t gyre_ncclParamGetU16(ncclParamHandle_t h, uint16_t* out) {
  return get_integer("ncclParamGetU16", h, out);
}
GYRE_EXPORTS(ncclParamGetU32);
ncclResult_t gyre_ncclParamGetU32(ncclParamHandle_t h, uint32_t* out) {
  return get_integer("ncclParamGetU32", h, out);
}
GYRE_EXPORTS(ncclParamGetU64);
ncclResult_t gyre_ncclParamGetU64(ncclParamHandle_t h, uint64_t* out) {
  return get_integer("ncclParamGetU64", h, out);
}

GYRE_EXPORTS(ncclParamGetStr);
ncclResult_t gyre_ncclParamGetStr(ncclParamHandle_t handle, const char** out) {
  return guarded("ncclParamGetStr", [&]() -> Result<void> {
    if (handle == nullptr || out == nullptr) {
      return Error{Status::invalid_argument, "handle or out is NULL"};
    }
    static thread_local std::string text;
    GYRE_TRY_ASSIGN(text, value_of(*row_of(handle)));
    *out = text.c_str();
    return {};
  });
}

GYRE_EXPORTS(ncclParamGet);
ncclResult_t gyre_ncclParamGet(ncclParamHandle_t handle, void* out, int most, int* length) {
  return guarded("ncclParamGet", [&]() -> Result<void> {
    if (handle == nullptr || out == nullptr || length == nullptr || most < 0) {
      return Error{Status::invalid_argument, "an argument is NULL or negative"};
    }
    GYRE_TRY_ASSIGN(const std::string text, value_of(*row_of(handle)));
    *length = static_cast<int>(text.size());
    std::memcpy(out, text.data(), std::min(text.size(), static_cast<std::size_t>(most)));
    return {};
  });
}

GYRE_EXPORTS(ncclParamGetParameter);
ncclResult_t gyre_ncclParamGetParameter(const char* key, const char** value, int* length) {
  return guarded("ncclParamGetParameter", [&]() -> Result<void> {
    if (value == nullptr) return Error{Status::invalid_argument, "value is NULL"};
    GYRE_TRY_ASSIGN(const SettingRow* row, find_row(key));
    static thread_local std::string text;
    GYRE_TRY_ASSIGN(text, value_of(*row));
    *value = text.c_str();
    if (length != nullptr) *length = static_cast<int>(text.size());
    return {};
  });
}

GYRE_EXPORTS(ncclParamGetAllParameterKeys);
ncclResult_t gyre_ncclParamGetAllParameterKeys(const char*** table, int* length) {
  return guarded("ncclParamGetAllParameterKeys", [&]() -> Result<void> {
    if (table == nullptr || length == nullptr) {
      return Error{Status::invalid_argument, "table or tableLen is NULL"};
    }
    static thread_local std::vector<std::string> names;
    static thread_local std::vector<const char*> pointers;
    names.clear();
    pointers.clear();
    for (const SettingRow& row : setting_table()) names.emplace_back(row.name);
    for (const std::string& name : names) pointers.push_back(name.c_str());
    *table = pointers.data();
    *length = static_cast<int>(pointers.size());
    return {};
  });
}

GYRE_EXPORTS(ncclParamDumpAll);
void gyre_ncclParamDumpAll() {
  (void)contained("ncclParamDumpAll", []() -> Result<void> {
    for (const SettingRow& row : setting_table()) {
      GYRE_TRY_ASSIGN(const std::string text, value_of(row));
      std::printf("%.*s=%s\n", static_cast<int>(row.name.size()), row.name.data(), text.c_str());
    }
    return {};
  });
}
