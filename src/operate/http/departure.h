// Records that the client of a request has left, and calls a function when it leaves. Any thread may use the objects.
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
  // Calls `f` once, on the thread that calls leave(). If the client has left already, calls `f` at once, on this
  // thread. A later `f` replaces one that was not called yet.
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
  // Records that the client has left. Later calls do nothing.
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

// Implements gone() and on_gone() of Base, which is WebClient or WebReply. The owner of the object calls left() when
// the client has left.
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
