// For tests: tools/fake_hub.py over a folder, as a process that goes with its object.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace hone {

// The environment of a user without token and cache: HF_HOME is in `folder`.
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
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // False when there is no python3.
  bool start(const std::string& program, std::vector<std::string> arguments) {
    int out[2];
    if (::pipe(out) != 0) return false;
    arguments.insert(arguments.begin(),
                     {"python3", std::string(HONE_SOURCE_DIR) + "/tools/" + program});
    std::vector<char*> raw;
    for (std::string& a : arguments) raw.push_back(a.data());
    raw.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no server
      ::dup2(out[1], 1);
      ::execvp("python3", raw.data());
      ::_exit(127);
    }
    ::close(out[1]);
    char line[64] = "";
    const bool up = ::read(out[0], line, sizeof line - 1) > 0;
    ::close(out[0]);
    port_ = up ? std::atoi(line + 5) : 0;
    return up;
  }

  int port() const { return port_; }
  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  int port_ = 0;
  pid_t pid_ = -1;
};

// Serves the repositories of a folder.
class FakeHub : public FakeServer {
 public:
  bool start(const std::string& root) { return FakeServer::start("fake_hub.py", {"--root", root}); }
};

}  // namespace hone
