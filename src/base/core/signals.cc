#include "base/core/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

#include "base/core/error.h"
#include "base/core/held_stop.h"

namespace hone {
namespace {
std::atomic<int> stop_flag{0};
std::atomic<int> holders{0};  // of stops
std::atomic<int> held_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

std::atomic<int> stop_event{-1};  // an eventfd, readable while a stop is requested

void tell_waiting() {
  const int kept = errno;  // a handler leaves it as it was
  (void)!::eventfd_write(stop_event.load(), 1);
  errno = kept;
}

void on_stop(int signal) {
  if (signal == SIGINT && (stop_flag.load() == SIGINT || held_signal.load() == SIGINT)) {
    constexpr std::string_view kText =
        "\ninterrupted twice: ending at once, nothing more is saved\n";
    (void)!::write(STDERR_FILENO, kText.data(), kText.size());
    ::_exit(130);
  }
  if (holders.load() > 0) return held_signal.store(signal);
  stop_flag.store(signal);
  tell_waiting();
}
}  // namespace

void install_stop_handlers() {
  if (stop_event.load() < 0) stop_event.store(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
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

void wait_for_stop() {
  while (!stop_requested()) {
    pollfd event{stop_event.load(), POLLIN, 0};
    HONE_BUG_IF(event.fd < 0, "nothing tells of a stop before install_stop_handlers()");
    (void)::poll(&event, 1, -1);
  }
}

void request_stop(int signal) {
  stop_flag.store(signal);
  if (signal != 0) return tell_waiting();
  eventfd_t taken = 0;
  (void)::eventfd_read(stop_event.load(), &taken);
}

HeldStops::HeldStops(bool on) : on_(on) {
  if (on) ++holders;
}

HeldStops::~HeldStops() {
  if (!on_ || --holders > 0) return;
  if (const int signal = held_signal.exchange(0); signal != 0) request_stop(signal);
}

int HeldStops::waiting() { return held_signal.load(); }

}  // namespace hone
