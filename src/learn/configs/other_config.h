// Reads settings files of other training programs. Each program has a file x.cc in this folder, which recognizes the
// program's settings by their keys and translates them into hone's. A key of a settings file is treated as follows:
//
//   its value is null                         as if the key were absent
//   a known key with an effect in hone        sets hone's settings with the same effect
//   a known key without an effect in hone     ignored; one notice lists all of them
//   a value that hone does not support        H2442
//   an unknown key                            H2441
//
// An absent key has the other program's default, not hone's. Flags take precedence over the file.
#pragma once

#include "base/settings/settings.h"

namespace hone {

struct ConfigBlock;

struct OtherConfig {
  std::string program;                          // "Axolotl"
  bool (*is_mine)(const Json& file) = nullptr;  // whether the file is of this program
  // Translates the file: adds settings, notices and errors to file.reading.out.
  void (*read)(const ConfigBlock& file) = nullptr;
};
std::vector<OtherConfig>
all_other_config();  // one for each program's file in this folder; generated

// Translates the contents of a settings file, YAML or (if `name` ends in .json) JSON, into hone's settings, `task`
// included. nullopt: it is not a file of these programs. Errors in the file are added to OtherFile::errors. Used as
// Schema::other_files (base/settings/settings.h).
std::optional<OtherFile> read_other_config(std::string_view text, const std::string& name);

}  // namespace hone
