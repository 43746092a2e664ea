// Settings files of other training programs. Each file x.cc of this shelf is a program: it recognises its
// settings by their keys and translates them to hone's.
//
//   null                          as if the key were absent
//   a key of the program's list   hone's settings with the same effect, or none: one notice names those
//   a value hone cannot do        H2442
//   any other key                 H2441
//
// Keys that are absent have the program's default, not hone's. Flags take precedence over the file.
#pragma once

#include "base/settings/settings.h"

namespace hone {

struct ConfigBlock;

struct OtherConfig {
  std::string program;  // "Axolotl"
  bool (*is_mine)(const Json& file) = nullptr;
  void (*read)(const ConfigBlock& file) = nullptr;
};
std::vector<OtherConfig> all_other_config();  // generated from the folder

// For Schema::other_files: the file as hone's settings, among them `task`; nullopt: it is not a file of
// these programs.
std::optional<OtherFile> read_other_config(std::string_view text, const std::string& name);

}  // namespace hone
