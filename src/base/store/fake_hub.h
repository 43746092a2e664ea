// For tests: tools/fake_hub.py over a folder, as a process that goes with its object.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace hone {

// The environment of a user without token and cache: HF_HOME is in `folder`.
inline void fresh_hub_environment(const std::string& folder) {
  for (const char* v : {"HF_TOKEN", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_ENDPOINT",
                        "HF_HUB_CACHE", "http_proxy"})
    ::unsetenv(v);
  ::setenv("HF_HOME", (folder + "/home").c_str(), 1);
  ::setenv("no_proxy", "127.0.0.1,localhost", 1);
}

class FakeHub {
 public:
  FakeHub() = default;
  FakeHub(const FakeHub&) = delete;
  ~FakeHub() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // Serves the repositories of `root`; false when there is no python3.
  bool start(const std::string& root) {
    int out[2];
    if (::pipe(out) != 0) return false;
    const std::string script = std::string(HONE_SOURCE_DIR) + "/tools/fake_hub.py";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], 1);
      ::execlp("python3", "python3", script.c_str(), "--root", root.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    char line[64] = "";
    const bool up = ::read(out[0], line, sizeof line - 1) > 0;
    ::close(out[0]);
    endpoint_ = fmt::format("http://127.0.0.1:{}", std::atoi(line + 5));
    return up;
  }

  const std::string& endpoint() const { return endpoint_; }

 private:
  std::string endpoint_;
  pid_t pid_ = -1;
};

}  // namespace hone
