// Internal: one object of a DeepSpeed configuration, and the state of reading the whole.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "learn/train/deepspeed/errors.h"

namespace hone::deepspeed {

// The configuration while it is read.
struct Reading {
  Schema& schema;
  std::vector<std::string>& notices;
  std::vector<Error>& errors;
  std::string name;                              // "ds_config.json"
  JsonPlaces places;                             // empty for an object of a settings file
  std::vector<std::string> without_effect = {};  // keys

  // "ds_config.json:12:9 optimizer.params.lr" of "/optimizer/params/lr".
  std::string place(const std::string& pointer) const;
  void fail(Error e) { errors.push_back(std::move(e)); }
  // Gives a setting its value.
  void imply(const std::string& setting, const Json& value, const std::string& pointer);
  void imply_default(const std::string& setting, const Json& value, const std::string& pointer);
  // H2419 at a place.
  void cannot(const std::string& what, const std::string& pointer, const std::string& remedy);
};

struct Block;
// The action for a value that is neither null nor "auto"; none: no effect in one process.
using Act = std::function<void(Reading&, const Json& value, const std::string& pointer)>;
struct Key {
  std::string name;
  Act act = nullptr;
};

// An object of the configuration.
struct Block {
  Reading& reading;
  const Json& json;
  std::string pointer;

  // The value; null when it is absent or "auto".
  const Json& at(const std::string& key) const;
  bool has(const std::string& key) const { return json.contains(key); }
  std::string place_of(const std::string& key) const { return pointer + "/" + key; }
  // The block of a key; an error and an empty block when it is not an object.
  Block block(const std::string& key) const;
  // Acts on each key. H2418 for those that are not in the table.
  void walk(const std::vector<Key>& keys) const;

  // A value of the type, or an error and `other`.
  bool flag(const std::string& key, bool other) const;
  double number(const std::string& key, double other) const;
  std::string text(const std::string& key, const std::string& other) const;
};

// For keys that are read separately, before their block is walked.
inline Act seen() {
  return [](Reading&, const Json&, const std::string&) {};
}
// Reads a key as the value of a setting.
Act sets(const std::string& setting);
// For unsupported features: false, null and an object whose "enabled" is false pass.
Act refused(const std::string& remedy);

void read_zero(const Block& block);
void read_activation_checkpointing(const Block& block);
void read_optimizer(const Block& top);
void read_scheduler(const Block& top);

}  // namespace hone::deepspeed
