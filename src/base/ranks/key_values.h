// Values (bytes) by key that one rank sets and other ranks read.
#pragma once

#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

inline constexpr double kNoEnd = std::numeric_limits<double>::infinity();  // waits without a limit

class KeyValues {
 public:
  virtual ~KeyValues() = default;
  // Sets the value of a key; a later value replaces it. A value of more than kMostValueBytes is a Bug.
  virtual Status set(const std::string& key, std::string_view value) = 0;
  // Waits until some rank has set the key, and returns its value. Error H0126 if no rank has set it within `patience_s`
  // seconds.
  virtual Result<std::string> get(const std::string& key, double patience_s = kNoEnd) = 0;
};
inline constexpr size_t kMostValueBytes = size_t{1} << 20;

// For ranks that are threads of one process.
class LocalKeyValues : public KeyValues {
 public:
  Status set(const std::string& key, std::string_view value) override;
  Result<std::string> get(const std::string& key, double patience_s = kNoEnd) override;
  // Call if a rank has ended: running and later calls of get() for keys that are not set return the error `why`. If it
  // is called several times, the first error counts.
  void end(const Error& why);

 private:
  std::mutex mutex_;
  std::optional<Error> ended_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace hone
