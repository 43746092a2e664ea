// The verbs of a command, such as promote in `hone models promote`: the values of its first argument, which is the
// setting `verb`. The help of that setting describes each verb:
//
//   "list: one row a model; export, import: models to and from a server"
//
// The help of another setting has parts, separated by semicolons. A part begins with the verbs that it is about; a part
// without verbs is about those of the part before it:
//
//   "show, promote: the model as NAME:3; export: one model (default: all)"
//
// If the help of a setting does not begin with verbs, the setting belongs to the verb that its group is named after
// (the group "Register"); if there is no such verb, it belongs to every verb.
#pragma once

#include "base/settings/settings.h"

namespace hone {

struct Verb {
  std::string name, summary;
};
// The verbs of a command in the order of the choices of `verb`; empty for a command without verbs.
std::vector<Verb> verbs_of(const Schema& schema);

// The names of the verbs that use the setting; empty: all verbs use it, or the command has no verbs.
std::vector<std::string> verbs_of(const Schema& schema, const Setting& setting);
// Returns true if `verb` uses the setting. It is false for the setting `verb` itself.
bool is_used_by(const Schema& schema, const Setting& setting, const std::string& verb);
// The parts of the setting's help that are about `verb`, without the names of verbs before the colon.
std::string help_for_verb(const Schema& schema, const Setting& setting, const std::string& verb);

}  // namespace hone
