# What every target of the tree shares: language level, warnings, sanitizers, output folders,
# and the three ways to declare one (component, program, test).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/archive")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Line tables only: enough for backtraces and sanitizer reports, and a third less to compile.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# For C and C++; GyreDevices.cmake has the flags of device sources.
add_library(gyre_flags INTERFACE)
target_compile_options(gyre_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wshadow
  -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-error=deprecated-declarations -Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports these inside libstdc++ and fmt at -O2, never in our own code.
  target_compile_options(gyre_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict
    -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overread
    -Wno-interference-size>)
endif()
target_compile_options(gyre_flags INTERFACE $<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:1>>:-Wno-error>)
# Our own code needs no vendor headers, and CUDA's would cost every file a second; the presets cuda and
# hip compile the tree with them, as a client's program does.
set(GYRE_VENDOR_HEADERS "none" CACHE STRING "Headers that nccl.h is compiled with: none, cuda, hip")
if(GYRE_VENDOR_HEADERS STREQUAL "cuda")
  find_package(CUDAToolkit REQUIRED)
  target_include_directories(gyre_flags SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(gyre_flags INTERFACE GYRE_NO_HIP)
elseif(GYRE_VENDOR_HEADERS STREQUAL "hip")
  find_path(GYRE_HIP_INCLUDE hip/hip_runtime_api.h REQUIRED)
  target_include_directories(gyre_flags SYSTEM INTERFACE ${GYRE_HIP_INCLUDE})
  target_compile_definitions(gyre_flags INTERFACE GYRE_NO_CUDA __HIP_PLATFORM_AMD__)
else()
  target_compile_definitions(gyre_flags INTERFACE GYRE_NO_CUDA GYRE_NO_HIP)
endif()
target_include_directories(gyre_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src"
  "${PROJECT_SOURCE_DIR}/include")
# fmt's code is compiled once, into our own libraries: see the file.
add_library(gyre_fmt STATIC "${PROJECT_SOURCE_DIR}/src/base/fmt/instance.cc")
target_link_libraries(gyre_flags INTERFACE gyre_fmt Threads::Threads)
if(GYRE_SANITIZE)
  target_compile_options(gyre_flags INTERFACE -fsanitize=${GYRE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(gyre_flags INTERFACE -fsanitize=${GYRE_SANITIZE})
endif()

if(GYRE_BUILD_FUZZERS)
  # Coverage of the code under test, not of the targets alone.
  target_compile_options(gyre_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# gyre_component(base DEPS ...): the static library gyre_base of every *.cc in the current folder.
function(gyre_component name)
  cmake_parse_arguments(ARG "" "" "DEPS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  endif()
  if(ARG_SOURCES)
    add_library(gyre_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(gyre_${name} PUBLIC gyre_flags ${ARG_DEPS})
  else()
    add_library(gyre_${name} INTERFACE)
    target_link_libraries(gyre_${name} INTERFACE gyre_flags ${ARG_DEPS})
  endif()
endfunction()

# gyre_test(name [LABELS ...] [TIMEOUT s] SOURCES ... DEPS ...): one GoogleTest program, one CTest test.
function(gyre_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(GYRE_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE gyre_flags ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# gyre_fuzzer(name SOURCES ... DEPS ...): a libFuzzer target, run for a bounded time by tools/check.
function(gyre_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(GYRE_BUILD_FUZZERS)
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE gyre_flags ${ARG_DEPS})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  endif()
endfunction()
