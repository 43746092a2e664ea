#include "engine/backends/cuda/driver/library.h"

#include <dlfcn.h>

#include "base/core/text.h"

namespace hone::cuda {
void* load_library(const char* variable, std::span<const char* const> names, std::string& why) {
  if (const std::string own = environment(variable); !own.empty()) {
    void* found = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL);
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
