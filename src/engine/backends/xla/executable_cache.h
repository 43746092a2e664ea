// A folder of compiled programs, so that a run does not compile programs that an earlier run compiled.
// The name of a file is a hash of the program's text, the options, and everything else that decides the
// plug-in's code: its file and version, its flags, and the machine's processor. Damaged files are ignored.
#pragma once

#include <optional>
#include <string>

#include "base/core/error.h"

namespace hone::xla {

class ExecutableCache {
 public:
  // folder: created when the first program is kept; "": no program is kept. compiler: a text that names the plug-in and
  // everything else that decides its code; it is part of the hash.
  ExecutableCache(std::string folder, std::string compiler)
      : folder_(std::move(folder)), compiler_(std::move(compiler)) {}

  bool on() const { return !folder_.empty(); }  // whether programs are kept
  // The serialized executable of a program's text and options; nothing if the file is missing or damaged.
  std::optional<std::string> read(const std::string& text, const std::string& options) const;
  // Writes a serialized executable. Errors: those of the file system.
  Status keep(const std::string& text, const std::string& options,
              const std::string& executable) const;
  // The path of the file for a program's text and options.
  std::string file_of(const std::string& text, const std::string& options) const;

 private:
  std::string folder_, compiler_;
};

}  // namespace hone::xla
