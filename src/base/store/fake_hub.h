// For tests: runs Python programs of tools/ as servers, such as tools/fake_hub.py, which imitates the Hugging Face hub.
// A server ends when its object is destroyed.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/core/child.h"

namespace hone {

// Sets the environment of a user without token and cache: HF_HOME is in `folder`, and other variables of the hub are
// unset.
inline void fresh_hub_environment(const std::string& folder) {
  for (const char* v : {"HF_TOKEN", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_ENDPOINT",
                        "HF_HUB_CACHE", "http_proxy"})
    ::unsetenv(v);
  ::setenv("HF_HOME", (folder + "/home").c_str(), 1);
  ::setenv("no_proxy", "127.0.0.1,localhost", 1);
}

// A Python program of tools/ that prints "port N" and serves until it is killed.
class FakeServer {
 public:
  FakeServer() = default;
  FakeServer(const FakeServer&) = delete;
  ~FakeServer() {
    if (server_.pid <= 0) return;
    ::kill(server_.pid, SIGKILL);
    wait_for_child(server_.pid);
  }

  // Starts tools/`program` with these arguments and waits for its port. Returns false if there is no python3.
  bool start(const std::string& program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"python3", std::string(HONE_SOURCE_DIR) + "/tools/" + program});
    // A test that crashes leaves no server.
    Result<Child> server =
        spawn({.command = arguments, .out = {ChildStream::kPipe}, .death_signal = SIGKILL});
    if (!server.ok()) return false;
    server_ = std::move(*server);
    char line[64] = "";
    const bool up = ::read(server_.out.get(), line, sizeof line - 1) > 0;
    port_ = up ? std::atoi(line + 5) : 0;
    return up;
  }

  int port() const { return port_; }
  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  int port_ = 0;
  Child server_;
};

// Serves the repositories in the folder `root`.
class FakeHub : public FakeServer {
 public:
  bool start(const std::string& root) { return FakeServer::start("fake_hub.py", {"--root", root}); }
};

}  // namespace hone
