// Libraries that are loaded while the program runs, and stay loaded. No other file calls dlopen().
#pragma once

#include <string>

#include "base/core/error.h"

namespace hone {

class Module {
 public:
  // A function of the library, of a type such as `int (*)(unsigned)`; null if it has none of this name.
  template <class F>
  F symbol(const char* name) const {
    return reinterpret_cast<F>(find(name));
  }
  std::string folder() const;  // where the loader found it

 private:
  friend Result<Module> load_module(const std::string& file);
  explicit Module(void* handle) : handle_(handle) {}
  void* find(const char* name) const;
  void* handle_;
};

// `file`: a path, or a name that the system's loader looks for. Error H0005.
Result<Module> load_module(const std::string& file);
// A module of hone itself, in the program's folder, in bin/ or ../bin, ../lib or ../lib/hone from there.
// Error H0005.
Result<Module> load_beside_program(const std::string& name);

}  // namespace hone
