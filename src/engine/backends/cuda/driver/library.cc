#include "engine/backends/cuda/driver/library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "base/core/text.h"

namespace hone::cuda {
void* load_library(const char* variable, std::span<const char* const> names, int newest_major,
                   std::string& why) {
  if (const std::string own = environment(variable); !own.empty()) {
    void* found = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* text = found == nullptr ? dlerror() : nullptr;
    if (found == nullptr) why = fmt::format("{}: {}", variable, text != nullptr ? text : own);
    return found;
  }
  const auto major_of = [](const std::string& name) {
    const size_t at = name.rfind(".so.");
    return at == name.npos ? 0 : std::atoi(name.c_str() + at + 4);
  };
  for (const char* name : names) {
    if (newest_major > 0 && major_of(name) > newest_major) continue;
    if (void* found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  }
  why = fmt::format("there is no {}{}", names.back(),
                    newest_major > 0 ? fmt::format(" for a driver of CUDA {}", newest_major) : "");
  return nullptr;
}

void load_beside(void* library, std::string_view prefix) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(map->l_name).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().filename().string().starts_with(prefix))
      (void)dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace hone::cuda
