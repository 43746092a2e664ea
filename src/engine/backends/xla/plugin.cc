#include "engine/backends/xla/plugin.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "base/core/module.h"
#include "base/core/text.h"
#include "engine/backends/xla/errors.h"

namespace hone::xla {
namespace {

namespace fs = std::filesystem;

struct Wheel {
  const char* package;
  const char* file;  // below site-packages
};
constexpr Wheel kCpuWheel{"xla-cpu-pjrt", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"};
constexpr Wheel kTpuWheel{"libtpu", "libtpu/libtpu.so"};

// The file of a wheel in an installation of Python; "" if it is not there.
std::string in_python(const fs::path& prefix, const Wheel& wheel) {
  std::error_code failed;
  for (const auto& version : fs::directory_iterator(prefix / "lib", failed)) {
    if (!version.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const fs::path file = version.path() / packages / wheel.file;
      if (fs::exists(file, failed)) return file.string();
    }
  }
  return "";
}

std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  if (const std::string active = environment("VIRTUAL_ENV"); !active.empty())
    prefixes.emplace_back(active);
  std::error_code failed;
  fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (int level = 0; level < 3 && folder.has_relative_path(); ++level) {
    prefixes.push_back(folder / "venv");
    folder = folder.parent_path();
  }
  if (const std::string home = environment("HOME"); !home.empty())
    prefixes.push_back(fs::path(home) / ".local");
  prefixes.emplace_back("/usr/local");
  prefixes.emplace_back("/usr");
  return prefixes;
}

std::string in_pythons(const Wheel& wheel) {
  for (const fs::path& prefix : python_prefixes())
    if (std::string file = in_python(prefix, wheel); !file.empty()) return file;
  return "";
}

// Google's machines say so in their firmware tables; elsewhere libtpu would wait for a metadata
// server that does not exist.
bool is_tpu_machine() {
  const Result<std::string> product = read_file("/sys/class/dmi/id/product_name");
  if (!product || product->find("Google") == std::string::npos) return false;
  std::error_code failed;
  return fs::exists("/dev/accel0", failed) || fs::exists("/dev/vfio/0", failed);
}

Error no_plugin(const std::string& what, const Wheel& wheel) {
  return Error(err::kNoPlugin, what)
      .todo(fmt::format("pip install {} into a Python that hone finds (VIRTUAL_ENV), or set "
                        "HONE_PJRT to the plug-in's file",
                        wheel.package));
}

}  // namespace

Result<std::string> find_plugin(Platform platform) {
  if (platform == Platform::tpu && !is_tpu_machine())
    return Error(err::kNoTpu, "this machine has no TPU")
        .todo("run on a TPU VM, or use the device xla_cpu to try the same programs here");
  if (std::string named = environment("HONE_PJRT"); !named.empty()) return named;
  if (platform == Platform::tpu) return find_libtpu();
  std::string file = in_pythons(kCpuWheel);
  if (file.empty()) return no_plugin("there is no PJRT plug-in for the CPU", kCpuWheel);
  return file;
}

Result<std::string> find_libtpu() {
  if (std::string named = environment("TPU_LIBRARY_PATH"); !named.empty()) return named;
  std::string file = in_pythons(kTpuWheel);
  if (file.empty()) return no_plugin("there is no libtpu", kTpuWheel);
  return file;
}

Result<std::shared_ptr<const Plugin>> Plugin::load(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Plugin>> loaded;
  const std::lock_guard lock(mutex);
  if (const auto at = loaded.find(file); at != loaded.end()) return at->second;

  const bool for_tpu = fs::path(file).filename() == fs::path(kTpuWheel.file).filename();
  const Wheel& wheel = for_tpu ? kTpuWheel : kCpuWheel;
  const Result<Module> library = load_module(file);
  if (!library.ok())
    return no_plugin(fmt::format("{} cannot be loaded: {}", file, library.error().what()), wheel);
  const auto get = library->symbol<const pjrt::Api* (*)()>("GetPjrtApi");
  const pjrt::Api* api = get == nullptr ? nullptr : get();
  if (api == nullptr) return no_plugin(fmt::format("{} is not a PJRT plug-in", file), wheel);
  if (api->version.major != 0 || api->struct_size < sizeof(pjrt::Api))
    return no_plugin(fmt::format("{} has version {}.{} of the PJRT API, which hone does not know",
                                 file, api->version.major, api->version.minor),
                     wheel);
  auto plugin = std::make_shared<Plugin>();
  plugin->api_ = api;
  plugin->file_ = file;
  pjrt::InitializeArgs args;
  HONE_TRY(plugin->call(api->plugin_initialize, args, "the plug-in's start"));
  loaded.emplace(file, plugin);
  return std::shared_ptr<const Plugin>(plugin);
}

std::string Plugin::version() const {
  return fmt::format("{}.{}", api_->version.major, api_->version.minor);
}

Status Plugin::status(pjrt::Error* error, const char* what) const {
  if (error == nullptr) return Ok{};
  pjrt::ErrorMessageArgs message;
  message.struct_size = sizeof message;
  message.error = error;
  api_->error_message(&message);
  Error e(err::kXlaFails, fmt::format("{} failed: {}", what,
                                      std::string_view(message.message, message.message_size)));
  e.at(file_);
  pjrt::ErrorArgs destroy;
  destroy.struct_size = sizeof destroy;
  destroy.error = error;
  api_->error_destroy(&destroy);
  return e;
}

Status Plugin::await(pjrt::Event* event, const char* what) const {
  pjrt::EventArgs args;
  args.event = event;
  const Status done = call(api_->event_await, args, what);
  (void)call(api_->event_destroy, args, what);
  return done;
}

}  // namespace hone::xla
