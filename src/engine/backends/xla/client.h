// A client of a PJRT plug-in: the plug-in's devices, arrays on a device, and compiled programs.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <span>

#include "engine/backends/xla/compile_options.h"
#include "engine/backends/xla/executable_cache.h"
#include "engine/backends/xla/writer.h"
#include "engine/graph/type.h"

namespace hone::xla {

class Client;

// Owns an array on a device, or none (false as a bool). The client must outlive it.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Client& client, pjrt::Buffer* raw) : client_(&client), raw_(raw) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  explicit operator bool() const { return raw_ != nullptr; }
  pjrt::Buffer* raw() const { return raw_; }

 private:
  const Client* client_ = nullptr;
  pjrt::Buffer* raw_ = nullptr;
};

// A compiled program. The client must outlive it.
class Compiled {
 public:
  // Takes ownership of `raw`.
  Compiled(const Client& client, pjrt::LoadedExecutable* raw) : client_(client), raw_(raw) {}
  ~Compiled();
  Compiled(const Compiled&) = delete;
  // Runs the program on the device of this number and waits for its end. outputs: receives one new array for each
  // result, which the caller owns. Error H1363: the program fails.
  Status run(int device, std::span<pjrt::Buffer* const> arguments,
             std::span<pjrt::Buffer*> outputs) const;
  // Runs replica r on device r, for all r, and waits for all of them. arguments[r]: the argument_count arrays of
  // replica r. outputs[r]: receives its results, as in run(). Error H1363: the program fails.
  Status run_replicas(std::span<pjrt::Buffer* const* const> arguments, size_t argument_count,
                      std::span<pjrt::Buffer** const> outputs) const;
  // The compiler's memory report. Error H1363: the plug-in cannot give it.
  Result<CompiledMemory> memory() const;

 private:
  Status execute(pjrt::ExecuteArgs& args) const;
  const Client& client_;
  pjrt::LoadedExecutable* raw_;
};

struct ClientSettings {
  int devices = 0;          // number of devices that a plug-in for the CPU makes; 0: its default
  std::string cache = "";   // folder for compiled programs; "": they are not kept
  double keep_after_s = 1;  // programs that compile in fewer seconds are not kept
};

// A client of a PJRT plug-in. Several threads may call its functions at the same time.
class Client {
 public:
  // Opens the plug-in's platform. Error H1363: the plug-in fails.
  static Result<std::unique_ptr<Client>> open(std::shared_ptr<const Plugin> plugin,
                                              const ClientSettings& settings = {});
  ~Client();
  Client(const Client&) = delete;

  const Plugin& plugin() const { return *plugin_; }
  const std::string& platform() const { return platform_; }  // "cpu", "tpu"
  // The integers to use in programs for this platform.
  Integers integers() const {
    return platform_ == "tpu" ? Integers::of_32_bits : Integers::of_64_bits;
  }
  const std::string& platform_version() const { return platform_version_; }
  // The name of each device's kind, such as "TPU v2", by ordinal.
  const std::vector<std::string>& device_kinds() const { return kinds_; }
  // Checks that a device of this ordinal exists. Error H1362: there are fewer devices.
  Status expect_device(int ordinal) const;
  int64_t memory_bytes(int device) const;  // 0: unknown
  pjrt::Device* device(int ordinal) const { return devices_[static_cast<size_t>(ordinal)]; }

  // Copies a row-major tensor to a device, and waits. Error H1363: the copy fails.
  Result<Buffer> upload(int device, const void* data, const Type& type) const;
  // Copies an array of `bytes` bytes to the host, and waits. Error H1363: the copy fails.
  Status download(const Buffer& from, void* to, int64_t bytes) const;
  // Compiles a module of StableHLO text. replicas above 1: the module runs on the first `replicas` devices together.
  // Does not compile a program again that is still in use, that is one of the last kRecent programs, or that is in the
  // cache folder. Error H1363: the module cannot be compiled.
  Result<std::shared_ptr<const Compiled>> compile(const std::string& text, int replicas = 1) const;
  static constexpr size_t kRecent = 16;
  int64_t compiles() const;  // programs compiled so far
  int64_t loads() const;     // programs loaded from the folder so far

 private:
  Client() = default;
  Result<pjrt::LoadedExecutable*> compile_now(const std::string& text,
                                              const std::string& options) const;
  // Loads the program from the folder. Null: it is not there, or the plug-in refuses it.
  pjrt::LoadedExecutable* load(const std::string& text, const std::string& options) const;
  void keep(const std::string& text, const std::string& options,
            pjrt::LoadedExecutable* made) const;
  std::shared_ptr<const Plugin> plugin_;
  pjrt::Client* raw_ = nullptr;
  std::vector<pjrt::Device*> devices_;
  std::string platform_, platform_version_;
  std::vector<std::string> kinds_;
  std::vector<int64_t> ids_;  // the plug-in's ids of the devices, by ordinal
  ExecutableCache cache_{"", ""};
  double keep_after_s_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, std::weak_ptr<const Compiled>> compiled_;  // by hash
  mutable std::deque<std::shared_ptr<const Compiled>> recent_;
  mutable int64_t compiles_ = 0, loads_ = 0;
};

}  // namespace hone::xla
