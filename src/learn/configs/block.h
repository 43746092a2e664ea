// Internal: translates one map (a block of keys) of another program's settings file. Results, notices and errors are
// collected while the whole file is read.
#pragma once

#include <functional>

#include "base/settings/settings.h"
#include "learn/configs/errors.h"

namespace hone {

// The file that is being read.
struct ConfigReading {
  std::string program;                           // "Axolotl"
  std::string name;                              // "run.yaml"
  JsonPlaces places;                             // line and column of each value, by JSON pointer
  OtherFile& out;                                // receives settings, notices and errors
  std::vector<std::string> without_effect = {};  // keys of the file that change nothing in hone

  // The place of a value for messages: the JSON pointer "/datasets/0/type" gives "run.yaml:12:5 datasets.0.type".
  std::string place(const std::string& pointer) const;
};

struct ConfigBlock;
// Translates the value of `key` in `block`; the value is not null. An empty function: the key has no effect in hone.
using ConfigAct = std::function<void(const ConfigBlock& block, const std::string& key)>;
struct ConfigKey {
  std::string name;
  ConfigAct act = nullptr;
};

// One map of the file. Its numbers and booleans are strings, as they are written in the file. Errors are added to
// reading.out.errors; functions then return a default value.
struct ConfigBlock {
  ConfigReading& reading;
  const Json& json;
  std::string pointer = "";  // JSON pointer of this map in the file; "": the whole file

  bool has(const std::string& key) const;        // false: the key is absent or null
  const Json& at(const std::string& key) const;  // null if the key is absent
  // The JSON pointer of `key` in the file.
  std::string place_of(const std::string& key) const { return pointer + "/" + key; }
  // The map under `key`; an empty one if the key is absent. Adds H2442 if the value is not a map.
  ConfigBlock block(const std::string& key) const;
  // Runs the action of each key of this map, in the order of the file. Adds H2441 for a key that is not in `keys`.
  void walk(const std::vector<ConfigKey>& keys) const;

  // The value of `key`; `other` if it is absent. Adds H2442 if it has another type.
  bool flag(const std::string& key, bool other = false) const;
  double number(const std::string& key, double other) const;
  std::string text(const std::string& key, const std::string& other = "") const;
  // The value as a list: a string or a list of strings. Empty if the key is absent.
  std::vector<std::string> texts(const std::string& key) const;

  // Gives hone's setting `setting` a value. Messages about the value name the place of `key`.
  void set(const std::string& setting, const Json& value, const std::string& key) const;
  // As set(), for a key that is absent: `value` is the other program's default.
  void set_default(const std::string& setting, const Json& value, const std::string& key) const;
  // Adds H2442 at `key`. `what`: the problem. `remedy`: what to do.
  void cannot(const std::string& what, const std::string& key, const std::string& remedy) const;
  // Adds H2442: hone does not support the value of `key`.
  void cannot_be(const std::string& key, const std::string& remedy) const;
  // Adds a notice for the user, with the place of `key`.
  void note(const std::string& key, const std::string& text) const;
};

// Does nothing. For a key that was read before walk().
ConfigAct seen();
// Gives hone's setting `setting` the value of the key.
ConfigAct sets(const std::string& setting);
// As sets(), for a setting that holds JSON: strings of numbers and booleans become numbers and booleans.
ConfigAct sets_json(const std::string& setting);
// Changes no setting. Accepts the values that turn the key off: false, 0, none or an empty value. Adds H2442 for any
// other value.
ConfigAct refused(const std::string& remedy);
// Changes no setting. Accepts one of `values`, or a list of them. Adds H2442 for any other value.
ConfigAct only(std::vector<std::string> values, const std::string& remedy);

}  // namespace hone
