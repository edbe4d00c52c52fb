# Debian packages, linked statically where an archive exists: a runner starts for every node task, and each shared
# library costs about a quarter of a millisecond per exec (bench exec-cost).
set(Boost_USE_STATIC_LIBS ON)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(OpenSSL 3 REQUIRED)

function(lathe_static_library target archive)
  find_library(path_${target} NAMES ${archive} REQUIRED)
  add_library(dep_${target} STATIC IMPORTED)
  set_target_properties(dep_${target} PROPERTIES IMPORTED_LOCATION ${path_${target}})
endfunction()
lathe_static_library(sqlite libsqlite3.a)
lathe_static_library(zstd libzstd.a)
lathe_static_library(yaml libyaml-cpp.a)
find_library(path_m NAMES m)
target_link_libraries(dep_sqlite INTERFACE ${CMAKE_DL_LIBS} m Threads::Threads)
