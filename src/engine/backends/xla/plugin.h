// PJRT plug-ins: libraries that compile and run StableHLO for one platform.
//   const auto plugin = HONE_TRY(Plugin::load(HONE_TRY(find_plugin(Platform::cpu))));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "engine/backends/xla/pjrt_api.h"

namespace hone::xla {

enum class Platform { cpu, tpu };

// The file of a platform's plug-in: the one that HONE_PJRT names, else that of its PyPI wheel
// (xla-cpu-pjrt, libtpu) in $VIRTUAL_ENV, in a folder `venv` in the program's folder or the two
// above it, or in the system's Python; libtpu also in TPU_LIBRARY_PATH. A plug-in for TPUs is only
// looked for on a machine that has one. Errors: H1361 none, H1362 no TPU.
Result<std::string> find_plugin(Platform platform);

// The file of libtpu, whose compiler works on any machine. H1361.
Result<std::string> find_libtpu();

class Plugin {
 public:
  // Loads and initialises the library, which stays loaded. H1361: it is not a plug-in, or too old.
  static Result<std::shared_ptr<const Plugin>> load(const std::string& file);

  const pjrt::Api& api() const { return *api_; }
  const std::string& file() const { return file_; }
  std::string version() const;  // of the API: "0.81"
  // Calls a function of the API. H1363 with the plug-in's words.
  template <class Args>
  Status call(pjrt::Call<Args> function, Args& args, const char* what) const {
    args.struct_size = sizeof args;
    return status(function(&args), what);
  }
  // Waits for an event and destroys it.
  Status await(pjrt::Event* event, const char* what) const;

 private:
  Status status(pjrt::Error* error, const char* what) const;
  const pjrt::Api* api_ = nullptr;
  std::string file_;
};

}  // namespace hone::xla
