// Internal: reads the objects of a DeepSpeed configuration and collects the errors.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "learn/train/deepspeed/errors.h"

namespace hone::deepspeed {

// The state of reading one configuration. A `pointer` is the JSON pointer of a value, such as "/optimizer/params/lr".
struct Reading {
  Schema& schema;
  std::vector<std::string>& notices;
  std::vector<Error>& errors;
  std::string name;  // name of the file, "ds_config.json"
  // Lines and columns of the values in the file. Empty: the configuration is an object in a settings file.
  JsonPlaces places;
  std::vector<std::string> without_effect = {};  // keys of the configuration that hone ignores

  // The place of a value for messages: "ds_config.json:12:9 optimizer.params.lr".
  std::string place(const std::string& pointer) const;
  void fail(Error e) { errors.push_back(std::move(e)); }
  // Sets a setting to a value of the configuration. Adds H0211 to `errors` if the user gave the setting another value.
  void imply(const std::string& setting, const Json& value, const std::string& pointer);
  // Sets a setting to DeepSpeed's default for an absent key, unless the user gave the setting.
  void imply_default(const std::string& setting, const Json& value, const std::string& pointer);
  // Adds H2419 to `errors`, for a value that hone does not support. `what`: the message. `remedy`: what to do.
  void cannot(const std::string& what, const std::string& pointer, const std::string& remedy);
};

struct Block;
// The action for a key. It is called only if the value is neither null nor "auto". An empty function: hone ignores the
// key.
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

  // The value of a key; JSON null if it is absent or "auto".
  const Json& at(const std::string& key) const;
  bool has(const std::string& key) const { return json.contains(key); }
  // JSON pointer of a key.
  std::string place_of(const std::string& key) const { return pointer + "/" + key; }
  // The object that is the value of a key; an empty object if the key is absent. Adds H2419 if the value is not an
  // object.
  Block block(const std::string& key) const;
  // Calls the action of `keys` for each key of the object. Adds H2418 for a key that is not in `keys`.
  void walk(const std::vector<Key>& keys) const;

  // The value of a key as the type that is returned; `other` if the key is absent. If the value has a different type,
  // adds H2419 and returns `other`.
  bool flag(const std::string& key, bool other) const;
  double number(const std::string& key, double other) const;
  std::string text(const std::string& key, const std::string& other) const;
};

// An action that does nothing, for keys that are read elsewhere.
inline Act seen() {
  return [](Reading&, const Json&, const std::string&) {};
}
// An action that sets the setting to the key's value.
Act sets(const std::string& setting);
// An action that adds H2419 for a feature that hone does not support, unless the value turns the feature off: false, an
// empty object, or an object whose "enabled" is false or "auto".
Act refused(const std::string& remedy);

// Each reads one part of the configuration, and sets the settings that this part gives. `block`: the object
// "zero_optimization" or "activation_checkpointing". `top`: the whole configuration.

void read_zero(const Block& block);
void read_activation_checkpointing(const Block& block);
void read_optimizer(const Block& top);
void read_scheduler(const Block& top);

}  // namespace hone::deepspeed
