// The flags of a command as plain data, for completion scripts and manual pages.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "base/settings/verbs.h"

namespace hone {

// The value of a flag: none (a switch), one of some words, text that may be a file, or another one.
enum class FlagValue { kNone, kWords, kFile, kOther };

struct FlagSheet {
  std::string name = {};   // "learning_rate"
  std::string part = {};   // "" or the case in which the command has it: "With --task clm: ..."
  std::string group = {};  // "Optimizer"
  std::string form = {};   // "--learning_rate NUMBER"
  std::string text = {};   // meaning and default
  std::string brief = {};  // the first clause of the meaning
  FlagValue value = FlagValue::kOther;
  bool list = false;                    // takes several values
  std::vector<std::string> words = {};  // of kWords
  std::vector<std::string> verbs = {};  // verbs that use it; empty: all
};

struct CommandSheet {
  std::string name = {}, summary = {};
  std::string group = {};    // the title of its group in the overview
  bool own_page = true;      // false: a name that only the page of hone mentions
  std::string same_as = {};  // "": its own flags; else the command whose flags it takes
  std::vector<std::string> positional = {};
  std::vector<std::string> first_words =
      {};  // of the first argument if it is one of some words, not a verb
  std::vector<Verb> verbs = {};
  std::vector<FlagSheet> flags = {};
};

// Adds the settings of a schema; its arguments and verbs too, if `part` is empty.
void add_flags(CommandSheet& sheet, const Schema& schema, const std::string& part);

// The flags that the verb uses, each once; all for verb "".
std::vector<const FlagSheet*> flags_of_verb(const CommandSheet& sheet, const std::string& verb);

// The first clause of a text, at most 70 bytes: a line of a menu.
std::string first_clause(const std::string& text);

}  // namespace hone
