# make install: the program with its completion scripts and manual pages, libhone with its one header,
# the CMake package and hone.pc.
# (The modules that hone loads install themselves, into lib/hone.)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -DHONE=$<TARGET_FILE:hone>
  \"-DSHARE=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\"
  -P ${CMAKE_CURRENT_LIST_DIR}/write_help.cmake COMMAND_ERROR_IS_FATAL ANY)")
install(TARGETS libhone EXPORT hone LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(libhone PROPERTIES EXPORT_NAME hone)
target_include_directories(libhone INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(FILES src/run/library/hone.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT hone NAMESPACE hone:: FILE honeConfig.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/honeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/honeConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
configure_file(cmake/hone.pc.in hone.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
