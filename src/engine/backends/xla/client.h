// A client of a PJRT plug-in: its devices, buffers on one of them, and compiled programs.
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

// An array on the device. Empty after it was donated.
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

class Compiled {
 public:
  Compiled(const Client& client, pjrt::LoadedExecutable* raw) : client_(client), raw_(raw) {}
  ~Compiled();
  Compiled(const Compiled&) = delete;
  // Runs on the device and waits for it. `outputs`: a place for each result.
  Status run(int device, std::span<pjrt::Buffer* const> arguments,
             std::span<pjrt::Buffer*> outputs) const;
  // Runs the replicas on the devices of their numbers: `arguments` and `outputs` by replica.
  Status run_replicas(std::span<pjrt::Buffer* const* const> arguments, size_t argument_count,
                      std::span<pjrt::Buffer** const> outputs) const;
  Result<CompiledMemory> memory() const;

 private:
  Status execute(pjrt::ExecuteArgs& args) const;
  const Client& client_;
  pjrt::LoadedExecutable* raw_;
};

struct ClientSettings {
  int devices = 0;          // that a plug-in for the CPU makes; 0: as many as it likes
  std::string cache = "";   // folder for compiled programs; "": they are not kept
  double keep_after_s = 1;  // programs whose compilation took less are not kept
};

class Client {
 public:
  // H1363.
  static Result<std::unique_ptr<Client>> open(std::shared_ptr<const Plugin> plugin,
                                              const ClientSettings& settings = {});
  ~Client();
  Client(const Client&) = delete;

  const Plugin& plugin() const { return *plugin_; }
  const std::string& platform() const { return platform_; }  // "cpu", "tpu"
  Integers integers() const {
    return platform_ == "tpu" ? Integers::of_32_bits : Integers::of_64_bits;
  }
  const std::string& platform_version() const { return platform_version_; }
  const std::vector<std::string>& device_kinds() const { return kinds_; }  // by ordinal
  // H1362: there are fewer devices.
  Status expect_device(int ordinal) const;
  int64_t memory_bytes(int device) const;  // 0: not known
  pjrt::Device* device(int ordinal) const { return devices_[static_cast<size_t>(ordinal)]; }

  Result<Buffer> upload(int device, const void* data, const Type& type) const;
  Status download(const Buffer& from, void* to, int64_t bytes) const;
  // A module of StableHLO text, whose replicas are for the first devices. A text that is in use, or one of the last kRecent, is not compiled
  // again, and neither is one whose program is in the folder.
  Result<std::shared_ptr<const Compiled>> compile(const std::string& text, int replicas = 1) const;
  static constexpr size_t kRecent = 16;
  int64_t compiles() const;  // done so far
  int64_t loads() const;     // of programs from the folder

 private:
  Client() = default;
  Result<pjrt::LoadedExecutable*> compile_now(const std::string& text,
                                              const std::string& options) const;
  // Null: the folder has none that the plug-in takes.
  pjrt::LoadedExecutable* load(const std::string& text, const std::string& options) const;
  void keep(const std::string& text, const std::string& options,
            pjrt::LoadedExecutable* made) const;
  std::shared_ptr<const Plugin> plugin_;
  pjrt::Client* raw_ = nullptr;
  std::vector<pjrt::Device*> devices_;
  std::string platform_, platform_version_;
  std::vector<std::string> kinds_;
  std::vector<int64_t> ids_;  // by ordinal
  ExecutableCache cache_{"", ""};
  double keep_after_s_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, std::weak_ptr<const Compiled>> compiled_;  // by hash of the text
  mutable std::deque<std::shared_ptr<const Compiled>> recent_;
  mutable int64_t compiles_ = 0, loads_ = 0;
};

}  // namespace hone::xla
