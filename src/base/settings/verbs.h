// Verbs of a command, such as `hone models promote`: the values of its first argument, the setting
// `verb`. Its help describes each,
//
//   "list: one row a model; export, import: models to and from a server"
//
// and a part of another setting's help begins with the verbs that it is about:
//
//   "show, promote: the model as NAME:3; export: one model (default: all)"
//
// A setting whose help begins without verbs belongs to the verb that its group is named after
// ("Register"), else to every verb.
#pragma once

#include "base/settings/settings.h"

namespace hone {

struct Verb {
  std::string name, summary;
};
// In the order of the choices; empty for a command without verbs.
std::vector<Verb> verbs_of(const Schema& schema);

// The verbs that use the setting; empty: all of them.
std::vector<std::string> verbs_of(const Schema& schema, const Setting& setting);
// Whether `verb` uses the setting. The setting `verb` itself is used by none.
bool is_used_by(const Schema& schema, const Setting& setting, const std::string& verb);
// The parts of the setting's help that are about `verb`, without the verbs that they begin with.
std::string help_for_verb(const Schema& schema, const Setting& setting, const std::string& verb);

}  // namespace hone
