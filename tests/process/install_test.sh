#!/usr/bin/env bash
# Installs to a fresh prefix, moves it, and builds one consumer through find_package(gyre) and one
# through pkg-config; both must run. Usage: install_test.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

DESTDIR='' cmake --install "$build" --prefix "$work/first" >"$work/install.log"
# Nothing of the package may remember where it was installed.
mv "$work/first" "$work/prefix"
prefix=$work/prefix

cat >"$work/consumer.c" <<'C'
#include <nccl.h>
#include <stdio.h>
int main(void) {
  int version = 0;
  ncclUniqueId id;
  if (ncclGetVersion(&version) != ncclSuccess || version < 20000) return 1;
  if (ncclGetUniqueId(&id) != ncclSuccess) return 2;
  printf("%d\n", version);
  return 0;
}
C
cat >"$work/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(gyre 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE gyre::nccl)
add_executable(rccl_consumer rccl_consumer.c)
target_link_libraries(rccl_consumer PRIVATE gyre::rccl)
add_executable(cxx_consumer cxx_consumer.cc)
target_compile_features(cxx_consumer PRIVATE cxx_std_20)
target_link_libraries(cxx_consumer PRIVATE gyre::gyre gyre::nccl)
C
sed 's,nccl.h,rccl/rccl.h,' "$work/consumer.c" >"$work/rccl_consumer.c"
printf '#include <gyre/gyre.hpp>\nint main() {}\n' >"$work/cxx_consumer.cc"

cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/configure.log" ||
  { cat "$work/configure.log"; exit 1; }
ninja -C "$work/build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
for program in consumer rccl_consumer cxx_consumer; do
  echo "find_package: $program $("$work/build/$program")"
done

pc=$(dirname "$(find "$prefix" -name gyre.pc)")
# shellcheck disable=SC2046 # the flags are words
"${CC:-cc}" "$work/consumer.c" -o "$work/by_pkg_config" \
  $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs gyre)
libraries=$(dirname "$(find "$prefix" -name libnccl.so.2)")
echo "pkg-config: consumer $(LD_LIBRARY_PATH=$libraries "$work/by_pkg_config")"

"$prefix/bin/gyre" run -n 2 "$work/build/consumer"
