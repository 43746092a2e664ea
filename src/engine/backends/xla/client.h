// A client of a PJRT plug-in: its devices, buffers on one of them, and compiled programs.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <span>

#include "engine/backends/xla/compile_options.h"
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
  // Runs on the client's device and waits for it. `outputs`: a place for each result.
  Status run(std::span<pjrt::Buffer* const> arguments, std::span<pjrt::Buffer*> outputs) const;
  Result<CompiledMemory> memory() const;

 private:
  const Client& client_;
  pjrt::LoadedExecutable* raw_;
};

class Client {
 public:
  // `ordinal`: of the device, in the plug-in's order. H1362: there is no such device; H1363.
  static Result<std::unique_ptr<Client>> open(std::shared_ptr<const Plugin> plugin, int ordinal);
  ~Client();
  Client(const Client&) = delete;

  const Plugin& plugin() const { return *plugin_; }
  const std::string& platform() const { return platform_; }  // "cpu", "tpu"
  const std::string& platform_version() const { return platform_version_; }
  const std::vector<std::string>& device_kinds() const { return kinds_; }  // by ordinal
  int64_t memory_bytes() const { return memory_bytes_; }  // of the device; 0: not known
  pjrt::Device* device() const { return device_; }

  Result<Buffer> upload(const void* data, const Type& type) const;
  Status download(const Buffer& from, void* to, int64_t bytes) const;
  // A module of StableHLO text. A text that is in use, or one of the last kRecent, is not compiled
  // again.
  Result<std::shared_ptr<const Compiled>> compile(const std::string& text) const;
  static constexpr size_t kRecent = 16;
  int64_t compiles() const;  // done so far

 private:
  Client() = default;
  std::shared_ptr<const Plugin> plugin_;
  pjrt::Client* raw_ = nullptr;
  pjrt::Device* device_ = nullptr;
  std::string platform_, platform_version_;
  std::vector<std::string> kinds_;
  int64_t memory_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, std::weak_ptr<const Compiled>> compiled_;  // by hash of the text
  mutable std::deque<std::shared_ptr<const Compiled>> recent_;
  mutable int64_t compiles_ = 0;
};

}  // namespace hone::xla
