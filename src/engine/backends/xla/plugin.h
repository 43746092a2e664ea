// PJRT plug-ins: shared libraries that compile and run StableHLO programs for one platform, such as TPUs.
//   const auto plugin = HONE_TRY(Plugin::load(HONE_TRY(find_plugin(Platform::cpu))));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "engine/backends/xla/pjrt_api.h"

namespace hone::xla {

enum class Platform { cpu, tpu };

// The path of a platform's plug-in: the one that HONE_PJRT names; else that of its PyPI wheel (xla-cpu-pjrt or libtpu)
// in a Python installation. These are searched in this order: $VIRTUAL_ENV, a folder `venv` in the program's folder or
// in the two above it, ~/.local, /usr/local, /usr. For TPUs, TPU_LIBRARY_PATH takes precedence over the wheel. Errors:
// H1361 no plug-in is found, H1362 Platform::tpu on a machine without a TPU.
Result<std::string> find_plugin(Platform platform);

// The path of libtpu on a machine with or without a TPU, whose compiler works on both: TPU_LIBRARY_PATH, else the wheel
// as in find_plugin(). Error H1361: it is not found.
Result<std::string> find_libtpu();

class Plugin {
 public:
  // Loads and initializes a plug-in, which stays loaded until the process ends. A second call for the same file returns
  // the same object. Errors: H1361 it is not a plug-in, or has another version of the API; H1363 it does not start.
  static Result<std::shared_ptr<const Plugin>> load(const std::string& file);

  const pjrt::Api& api() const { return *api_; }
  const std::string& file() const { return file_; }
  std::string version() const;  // the version of its PJRT API, "0.81"
  // Calls a function of the API. what: the action, for the error's text. H1363: it fails, with the plug-in's message.
  template <class Args>
  Status call(pjrt::Call<Args> function, Args& args, const char* what) const {
    args.struct_size = sizeof args;
    return status(function(&args), what);
  }
  // Waits for an event and destroys it. H1363: the work that the event stands for failed.
  Status await(pjrt::Event* event, const char* what) const;

 private:
  Status status(pjrt::Error* error, const char* what) const;
  const pjrt::Api* api_ = nullptr;
  std::string file_;
};

}  // namespace hone::xla
