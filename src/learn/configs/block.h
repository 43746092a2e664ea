// Internal: one map of another program's settings file, and the state of reading the whole.
#pragma once

#include <functional>

#include "base/settings/settings.h"
#include "learn/configs/errors.h"

namespace hone {

// The file while it is read.
struct ConfigReading {
  std::string program;
  std::string name;  // "run.yaml"
  JsonPlaces places;
  OtherFile& out;
  std::vector<std::string> without_effect = {};  // keys

  // "run.yaml:12:5 datasets.0.type" of "/datasets/0/type".
  std::string place(const std::string& pointer) const;
};

struct ConfigBlock;
// The action for a value that is not null; none: the key has no effect in hone.
using ConfigAct = std::function<void(const ConfigBlock& block, const std::string& key)>;
struct ConfigKey {
  std::string name;
  ConfigAct act = nullptr;
};

// A map of the file. Scalars are texts, as they are written.
struct ConfigBlock {
  ConfigReading& reading;
  const Json& json;
  std::string pointer = "";

  bool has(const std::string& key) const;        // not null
  const Json& at(const std::string& key) const;  // null if absent
  std::string place_of(const std::string& key) const { return pointer + "/" + key; }
  ConfigBlock block(const std::string& key) const;  // an empty one unless it is a map
  // Acts on each key, in the order of the file. H2441 for those that are not in the table.
  void walk(const std::vector<ConfigKey>& keys) const;

  // The value; `other` if it is absent, or an error if it is of another type.
  bool flag(const std::string& key, bool other = false) const;
  double number(const std::string& key, double other) const;
  std::string text(const std::string& key, const std::string& other = "") const;
  std::vector<std::string> texts(const std::string& key) const;  // of one text or a list

  // Gives a setting its value, whose place is the key's.
  void set(const std::string& setting, const Json& value, const std::string& key) const;
  // The program's default of an absent key.
  void set_default(const std::string& setting, const Json& value, const std::string& key) const;
  // H2442 at the key.
  void cannot(const std::string& what, const std::string& key, const std::string& remedy) const;
  // H2442: hone has no such value.
  void cannot_be(const std::string& key, const std::string& remedy) const;
  void note(const std::string& key, const std::string& text) const;
};

// For keys that are read separately, before their block is walked.
ConfigAct seen();
// Reads a key as the value of a setting.
ConfigAct sets(const std::string& setting);
// As sets, for a setting that holds JSON: numbers are read as numbers.
ConfigAct sets_json(const std::string& setting);
// Passes only false, 0, an empty value and none.
ConfigAct refused(const std::string& remedy);
// Passes only these values.
ConfigAct only(std::vector<std::string> values, const std::string& remedy);

}  // namespace hone
