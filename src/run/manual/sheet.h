// The flags of a command as plain data, for completion scripts and manual pages.
#pragma once

#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "base/settings/verbs.h"

namespace hone {

// The kind of a flag's value. kNone: a switch without a value. kWords: one of FlagSheet::words. kFile: text that may be
// the path of a file. kOther: another value, such as a number.
enum class FlagValue { kNone, kWords, kFile, kOther };

struct FlagSheet {
  std::string name = {};   // "learning_rate"
  std::string part = {};   // the condition for the flag to exist, "With --task clm: ..."; "": none
  std::string group = {};  // "Optimizer"
  std::string form = {};   // "--learning_rate NUMBER"
  std::string text = {};   // the flag's meaning and default
  std::string brief = {};  // the first clause of the meaning
  FlagValue value = FlagValue::kOther;
  bool list = false;                    // takes several values
  std::vector<std::string> words = {};  // the possible values for kWords
  std::vector<std::string> verbs = {};  // the verbs that use the flag; empty: all
};

struct CommandSheet {
  std::string name = {}, summary = {};
  std::string group = {};    // the title of the command's group in the list of commands
  bool own_page = true;      // false: no manual page; only the page of hone mentions the command
  std::string same_as = {};  // the command whose flags this one takes; "": its own flags
  std::vector<std::string> positional = {};  // the settings that are arguments without a flag
  // The possible values of the first argument, unless it is a verb or may have any value.
  std::vector<std::string> first_words = {};
  std::vector<Verb> verbs = {};
  std::vector<FlagSheet> flags = {};
};

// Adds the settings of a schema to the sheet as flags with FlagSheet::part = `part`. If `part` is "", also sets the
// sheet's arguments and verbs, and adds the flags that every command has.
void add_flags(CommandSheet& sheet, const Schema& schema, const std::string& part);

// The flags that the verb uses, each name once; all flags if `verb` is "". The pointers are valid as long as `sheet`.
std::vector<const FlagSheet*> flags_of_verb(const CommandSheet& sheet, const std::string& verb);

// The first clause of a text, cut to at most 70 bytes, for a line of a completion menu.
std::string first_clause(const std::string& text);

}  // namespace hone
