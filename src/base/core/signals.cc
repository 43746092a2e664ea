#include "base/core/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

namespace hone {
namespace {
std::atomic<int> stop_flag{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_stop(int signal) {
  if (signal == SIGINT && stop_flag.load() == SIGINT) {
    constexpr std::string_view kText =
        "\ninterrupted twice: ending at once, nothing more is saved\n";
    (void)!::write(STDERR_FILENO, kText.data(), kText.size());
    ::_exit(130);
  }
  stop_flag.store(signal);
}
}  // namespace

void install_stop_handlers() {
  struct sigaction action {};
  action.sa_handler = on_stop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}
bool stop_requested() { return stop_flag.load(std::memory_order_relaxed) != 0; }
int stop_signal() { return stop_flag.load(); }
void request_stop(int signal) { stop_flag.store(signal); }

}  // namespace hone
