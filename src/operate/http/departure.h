// Records whether the client of a request has left, and calls a function then. Any thread may use
// it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

#include "operate/http/request.h"

namespace hone {

class Departure {
 public:
  bool gone() const { return gone_; }
  // Calls `f` once, as soon as the client leaves; at once if it has left.
  void on_gone(std::function<void()> f) {
    {
      std::lock_guard lock(mutex_);
      if (!gone_) {
        f_ = std::move(f);
        return;
      }
    }
    f();
  }
  void leave() {
    std::function<void()> f;
    {
      std::lock_guard lock(mutex_);
      if (gone_.exchange(true)) return;
      f = std::exchange(f_, nullptr);
    }
    if (f) f();
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> gone_ = false;
  std::function<void()> f_;
};

// A WebClient, or a WebReply, whose owner says when the client has left.
template <class Base>
class Departing : public Base {
 public:
  bool gone() const override { return departure_.gone(); }
  void on_gone(std::function<void()> f) override { departure_.on_gone(std::move(f)); }
  void left() { departure_.leave(); }

 private:
  Departure departure_;
};
using ConnectionReply = Departing<WebReply>;

}  // namespace hone
