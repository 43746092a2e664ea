#include "engine/backends/cuda/driver/library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace hone::cuda {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string cache_folder() {
  if (const std::string own = environment("HONE_CACHE"); !own.empty()) return own + "/cuda";
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty())
    return xdg + "/hone/cuda";
  return environment("HOME") + "/.cache/hone/cuda";
}

void* load_library(const char* variable, std::span<const char* const> names, std::string& why) {
  if (const char* own = std::getenv(variable); own != nullptr && *own != '\0') {
    void* found = dlopen(own, RTLD_NOW | RTLD_LOCAL);
    const char* text = found == nullptr ? dlerror() : nullptr;
    if (found == nullptr) why = fmt::format("{}: {}", variable, text != nullptr ? text : own);
    return found;
  }
  for (const char* name : names)
    if (void* found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  why = fmt::format("there is no {}", names.back());
  return nullptr;
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace hone::cuda
