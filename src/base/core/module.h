// Shared libraries that are loaded while the program runs and are never unloaded. No other file calls dlopen().
#pragma once

#include <string>

#include "base/core/error.h"

namespace hone {

class Module {
 public:
  // The function `name` of the library. F is its pointer type, such as `int (*)(unsigned)`. Null if the library has no
  // function of this name.
  template <class F>
  F symbol(const char* name) const {
    return reinterpret_cast<F>(find(name));
  }
  std::string folder() const;  // the folder in which the loader found the library; "": unknown

 private:
  friend Result<Module> load_module(const std::string& file);
  explicit Module(void* handle) : handle_(handle) {}
  void* find(const char* name) const;
  void* handle_;
};

// Loads a library. `file` is a path, or a file name that the system's loader searches. Error H0005 if it cannot be
// loaded.
Result<Module> load_module(const std::string& file);
// Loads a library of hone itself from the program's folder, or from bin, ../bin, ../lib or ../lib/hone relative to that
// folder. The first of these folders that has the file counts. Error H0005 if none has the file, or the file cannot be
// loaded.
Result<Module> load_beside_program(const std::string& name);

}  // namespace hone
