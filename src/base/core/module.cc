#include "base/core/module.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "base/core/errors.h"

namespace hone {

void* Module::find(const char* name) const { return ::dlsym(handle_, name); }

std::string Module::folder() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return std::filesystem::path(map->l_name).parent_path().string();
}

Result<Module> load_module(const std::string& file) {
  if (void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return Module(handle);
  const char* why = ::dlerror();
  return Error(err::kModule,
               fmt::format("{} does not load: {}", file, why ? why : "no reason given"))
      .todo("install what it needs, or build hone again");
}

Result<Module> load_beside_program(const std::string& name) {
  std::error_code failed;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  for (const char* folder : {".", "bin", "../bin", "../lib", "../lib/hone"}) {
    const std::filesystem::path file = (program / folder / name).lexically_normal();
    if (std::filesystem::exists(file, failed)) return load_module(file.string());
  }
  return Error(err::kModule, fmt::format("this build has no {} (looked for {})", name,
                                         (program / name).lexically_normal().string()));
}

}  // namespace hone
