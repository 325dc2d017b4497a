# Which kinds of device kernels are built for, and how their sources are compiled.
#
# GYRE_CUDA and GYRE_HIP are ON, OFF or AUTO (on where a compiler is found). What comes of it are
# GYRE_BUILD_CUDA and GYRE_BUILD_HIP.
set(GYRE_CUDA AUTO CACHE STRING "Build libgyre_cuda.so: AUTO, ON or OFF")
set_property(CACHE GYRE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GYRE_BUILD_CUDA OFF)

if(GYRE_CUDA)
  include(CheckLanguage)
  # Where it is installed without being in PATH.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(GYRE_NVCC nvcc HINTS /usr/local/cuda/bin)
    if(GYRE_NVCC)
      set(ENV{CUDACXX} "${GYRE_NVCC}")
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # A cubin for Hopper, and what drivers compile for everything later.
    set(CMAKE_CUDA_ARCHITECTURES "90-real;90-virtual" CACHE STRING "CUDA architectures")
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc has C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(GYRE_BUILD_CUDA ON)
  elseif(NOT GYRE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "GYRE_CUDA is ${GYRE_CUDA}, but no CUDA compiler was found: set CUDACXX")
  endif()
endif()
message(STATUS "CUDA back-end: ${GYRE_BUILD_CUDA}")

set(GYRE_HIP AUTO CACHE STRING "Build libgyre_hip.so: AUTO, ON or OFF")
set_property(CACHE GYRE_HIP PROPERTY STRINGS AUTO ON OFF)
set(GYRE_HIP_ARCHITECTURES "gfx90a;gfx942;gfx1100" CACHE STRING "HIP architectures")
set(GYRE_BUILD_HIP OFF)

if(GYRE_HIP)
  set(GYRE_ROCM_ROOT "/opt/rocm" CACHE PATH "A ROCm installation; Debian's packages do without")
  find_program(GYRE_HIP_COMPILER NAMES clang++-19 amdclang++ HINTS "${GYRE_ROCM_ROOT}/bin")
  if(NOT EXISTS "${GYRE_ROCM_ROOT}/amdgcn/bitcode/ockl.bc" AND GYRE_HIP_COMPILER
      AND EXISTS /usr/include/hip/hip_runtime_api.h)
    set(GYRE_ROCM_ROOT "${CMAKE_BINARY_DIR}/rocm")
    if(NOT EXISTS "${GYRE_ROCM_ROOT}/amdgcn/bitcode/ockl.bc")
      execute_process(COMMAND "${PROJECT_SOURCE_DIR}/cmake/make_rocm_root" "${GYRE_ROCM_ROOT}")
    endif()
  endif()
  if(GYRE_HIP_COMPILER AND EXISTS "${GYRE_ROCM_ROOT}/amdgcn/bitcode/ockl.bc")
    set(GYRE_BUILD_HIP ON)
  elseif(NOT GYRE_HIP STREQUAL "AUTO")
    message(FATAL_ERROR "GYRE_HIP is ${GYRE_HIP}, but clang++-19 or HIP's headers and device "
      "libraries are missing: tools/setup --hip installs them on Debian")
  endif()
endif()
message(STATUS "HIP back-end: ${GYRE_BUILD_HIP}")

set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -DNDEBUG -lineinfo")
if(CCACHE_PROGRAM)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# For device sources what gyre_flags is for the others. Contraction would give other bits than the
# host's reductions.
add_library(gyre_device_flags INTERFACE)
target_include_directories(gyre_device_flags INTERFACE "${PROJECT_SOURCE_DIR}"
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_compile_options(gyre_device_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --fmad=false -Werror=all-warnings
  -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror>)

# gyre_device_backend(cuda): libgyre_cuda.so of kernels/backend, kernels/backend_cuda and the device
# sources given.
function(gyre_device_backend name)
  cmake_parse_arguments(ARG "" "" "DEVICE;LIBRARIES;INCLUDES;DEFINITIONS" ${ARGN})
  file(GLOB host_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/backend/*.cc"
    "${PROJECT_SOURCE_DIR}/kernels/backend_${name}/*.cc")
  add_library(gyre_${name} SHARED ${host_sources} ${ARG_DEVICE})
  target_link_libraries(gyre_${name} PRIVATE gyre_flags ${ARG_LIBRARIES})
  target_include_directories(gyre_${name} SYSTEM PRIVATE ${ARG_INCLUDES})
  target_compile_definitions(gyre_${name} PRIVATE ${ARG_DEFINITIONS})
  # Its table is all that Gyre looks for; two back-ends and the user's own runtime must not meet.
  set(map "${PROJECT_SOURCE_DIR}/kernels/backend/exports.map")
  target_link_options(gyre_${name} PRIVATE "-Wl,--version-script=${map}" -Wl,--no-undefined
    -Wl,-z,nodelete)
  set_target_properties(gyre_${name} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS "${map}"
    SKIP_BUILD_RPATH ON)
  install(TARGETS gyre_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
