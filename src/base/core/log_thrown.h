// Threads that continue, whatever a part of their work throws.
//
//   for (;;) log_if_thrown("a request", [&] { answer(next()); });
#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include "base/core/log.h"

namespace hone {

// Calls f, and logs what it throws: "WHAT ended in an error: WHY". False: f threw. Without memory for the line there is
// none.
template <class F>
bool log_if_thrown(std::string_view what, F&& f) {
  try {
    std::forward<F>(f)();
    return true;
  } catch (const std::exception& e) {
    try {
      log_warning("{} ended in an error: {}", what, e.what());
    } catch (const std::exception&) {
    }
    return false;
  }
}

}  // namespace hone
