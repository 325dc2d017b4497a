# Install rules: the libraries, their headers, the programs, find_package(gyre) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS gyre RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET gyre-train)
  file(RELATIVE_PATH to_libraries "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(gyre-train PROPERTIES INSTALL_RPATH "\$ORIGIN/${to_libraries}")
  install(TARGETS gyre-train RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# gyre_shared is what gyre.hpp needs, nccl and rccl are what programs written for those link.
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/gyre")
foreach(shim nccl rccl)
  target_include_directories(${shim} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS gyre_shared nccl rccl EXPORT gyre_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT gyre_targets NAMESPACE gyre:: FILE gyreTargets.cmake DESTINATION "${package}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/GyreConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/gyreConfig.cmake" INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gyreConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/gyreConfig.cmake"
  "${PROJECT_BINARY_DIR}/gyreConfigVersion.cmake" DESTINATION "${package}")

# Relative to the file itself, so that an installed tree may be moved.
file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/gyre.pc.in" "${PROJECT_BINARY_DIR}/gyre.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/gyre.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
