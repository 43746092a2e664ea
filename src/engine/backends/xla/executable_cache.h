// Compiled programs on disk, so that the next run compiles nothing that one before it has compiled.
// A file is named by a hash of the text, the options and everything that decides the plug-in's
// code: its file and version, its flags, and the machine's processor. A damaged file is not used.
#pragma once

#include <optional>
#include <string>

#include "base/core/error.h"

namespace hone::xla {

class ExecutableCache {
 public:
  // `folder` is made when the first program is kept; "": nothing is kept. `compiler` says what decides
  // the code of a text: another one never reads this one's files.
  ExecutableCache(std::string folder, std::string compiler)
      : folder_(std::move(folder)), compiler_(std::move(compiler)) {}

  bool on() const { return !folder_.empty(); }
  // A serialized executable; nothing if there is none, or a damaged one.
  std::optional<std::string> read(const std::string& text, const std::string& options) const;
  Status keep(const std::string& text, const std::string& options,
              const std::string& executable) const;
  std::string file_of(const std::string& text, const std::string& options) const;

 private:
  std::string folder_, compiler_;
};

}  // namespace hone::xla
