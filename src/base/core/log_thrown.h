// Logs exceptions in a thread that must continue after them, such as one that answers requests.
//
//   for (;;) log_if_thrown("a request", [&] { answer(next()); });
#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include "base/core/log.h"

namespace hone {

// Calls f. If f throws a std::exception, logs "WHAT ended in an error: WHY" as a warning and returns false, else
// returns true. `what` names the work. If there is no memory for the line, nothing is logged.
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
