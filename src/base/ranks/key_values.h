// Bytes by name, set by one rank and read by others.
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

inline constexpr double kNoEnd = std::numeric_limits<double>::infinity();  // of a wait

class KeyValues {
 public:
  virtual ~KeyValues() = default;
  // Sets the value of a key, at most kMostValueBytes; a later value replaces it.
  virtual Status set(const std::string& key, std::string_view value) = 0;
  // Waits until some rank has set the key. Error H0126: nobody set it within `patience_s`.
  virtual Result<std::string> get(const std::string& key, double patience_s = kNoEnd) = 0;
};
inline constexpr size_t kMostValueBytes = size_t{1} << 20;

// For ranks that are threads of one process.
class LocalKeyValues : public KeyValues {
 public:
  Status set(const std::string& key, std::string_view value) override;
  Result<std::string> get(const std::string& key, double patience_s = kNoEnd) override;
  // A rank has ended: running and later get() of keys that are not set return this error. The first one stays.
  void end(const Error& why);

 private:
  std::mutex mutex_;
  std::optional<Error> ended_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace hone
