// The settings of a command. A Schema describes them once. Flags, the settings file (YAML or JSON), environment
// variables, --help, --dump-config, suggestions for a typo and the reference page come from it.
//
//   struct Settings : CommonSettings, TrainSettings {   // see fields.inc
//     void bind(Schema& s) { CommonSettings::bind(s); TrainSettings::bind(s); }
//   };
//   Settings settings;
//   Schema schema("hone train", "fine-tune a model");
//   settings.bind(schema);
//   ParseOutcome outcome = HONE_TRY(schema.parse(args, environment_settings()));
//   use(settings.learning_rate);                     // a plain typed member
//   schema.origin("learning_rate").source;           // SettingSource::kFlag if it was given as a flag
//
// If a setting is given several times, the later source in this list takes precedence: default, preset of the command,
// settings file, environment variable (HONE_LEARNING_RATE), flag. `-` and `_` are the same in names of flags and of
// keys in a file. A flag is --name value or --name=value; a bool also has --name alone (true) and --no_name (false). A
// list takes all words up to the next flag, or one word "a,b". All mistakes in the flags, the file and the variables
// are reported together in one Error.
//
// The settings file is --config FILE, or the first argument whose name ends in .yaml, .yml or .json and that is neither
// a flag, nor a flag's value, nor an argument for positional().
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/value.h"

namespace hone {

// The source of a setting's value, in rising precedence. kCommand: a preset of the command.
enum class SettingSource { kDefault, kCommand, kFile, kEnvironment, kFlag };
struct Origin {
  SettingSource source = SettingSource::kDefault;
  // The place in the source: "run.yaml:3:1" (line and column of a file), "HONE_SEED", "--seed", "hone train" (the
  // command of a preset).
  std::string place = "default";
};

struct Setting {
  // name: has "_" between words. group: the heading in help, such as "Training". help: the meaning in one line.
  std::string name, group, help;
  Field field;  // points to the value
  OrderedJson default_value;
  Origin origin;
  // choices: the allowed words; empty: any value. aliases: the other spellings, without deprecated ones.
  std::vector<std::string> choices, aliases;
  // The bounds of a number, or of a size in bytes. Values equal to a bound are allowed.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  // required: parse() fails if no source gives a value. secret: the value is never printed or dumped.
  bool required = false, secret = false;
  bool common = false;  // help() shows the setting even if HelpOptions::all is false
  // The parts of a run's results that the setting affects, in the words of learn/train/ledger.h ("rows"). The default
  // is "bits": the setting must be equal when a run is resumed.
  std::vector<std::string> decides = {"bits"};
  // The default from the line in settings.def. default_value differs from it if the bound object had another value.
  OrderedJson defined_value;

  // The choices for help, without the empty one, which means "not set".
  std::vector<std::string> words() const;
  OrderedJson value() const;  // the current value
  bool changed() const;       // the value differs from default_value
};

struct ParseOutcome {
  bool help = false;                 // --help: print schema.help() and end
  bool help_all = false;             // --help all
  std::string verb;                  // with `help`: the verb in the arguments; "": none
  bool dump_config = false;          // --dump-config: print schema.dump() and end
  std::string config_file;           // the path of the settings file; "": none
  std::vector<std::string> notices;  // lines for the user: old spellings, flags without effect
};

// The contents of another program's settings file, translated into this command's settings.
struct OtherFile {
  struct Entry {
    std::string setting;  // the name in this command
    Json value;
    std::string place;  // "run.yaml:3:1 lora_r"
  };
  std::vector<Entry> entries;        // if a setting appears twice, the last entry counts
  std::vector<std::string> notices;  // lines for the user
  std::vector<Error> errors;         // mistakes; parse() fails with them
};

struct HelpOptions {
  int width = 80;         // columns; values outside 40 to 120 are clamped
  bool all = true;        // false: only the common settings, if the schema marks some
  std::string verb = "";  // shows only the settings of this verb (verbs.h); "": all verbs
};

// The environment variables of this process whose names begin with HONE_, by name.
std::map<std::string, std::string> environment_settings();

class Schema {
 public:
  // `command` is the command as typed, "hone train"; `summary` describes it for help.
  Schema(std::string command, std::string summary);
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;
  ~Schema();

  // --- describing (fields.inc calls most of these; a wrong call throws a Bug) ----------------
  // Adds a setting. The field must outlive the schema; its current value becomes the default.
  void add(const std::string& name, Field field, const std::string& group, const std::string& help);
  // Sets Setting::decides from the text in settings.def: "source, order"; "nothing" for none; "" leaves the default.
  // Sets Setting::defined_value from `defined`.
  void decides(const std::string& name, std::string_view words, const Field& defined);
  // The functions below set the members of Setting with these names.
  void choices(const std::string& name, std::vector<std::string> allowed);
  void bounds(const std::string& name, double least, double most);
  // Adds the spelling `other`. A deprecated spelling is not shown in help(), and its use gives a notice.
  void alias(const std::string& name, const std::string& other, bool deprecated);
  void required(const std::string& name);
  void secret(const std::string& name);
  void common(const std::string& name, bool is = true);
  // Adds a flag of other programs that hone does not support: any value but `off` is Error H0204 with the remedy `why`.
  // T is a type that Field can point to.
  template <class T>
  void refused(const std::string& name, T off, const std::string& why) {
    add_foreign(name, true, Field(&off), why);
  }
  // Adds a flag of other programs that has no effect in hone: its use gives a notice with the reason `why`.
  template <class T>
  void ignored(const std::string& name, const std::string& why) {
    T any{};
    add_foreign(name, false, Field(&any), why);
  }
  // Sets a value for this command. File, environment and flags take precedence over it.
  void preset(const std::string& name, const std::string& value);
  // Makes a setting an argument: words that are not flags fill these settings, in the order of the calls of
  // positional().
  void positional(const std::string& name);

  // --- reading --------------------------------------------------------------------------------
  // Reads the settings file, the environment and the flags into the fields. `args` are the words after the command;
  // `environment` has variables by name (environment_settings()); `read` reads the settings file (default:
  // read_file()). Errors: H0201 an unknown setting, H0202 a value of the wrong type, H0203 a value outside the choices,
  // H0204 a refused flag, H0205 a flag without its value, H0206 an argument that no setting takes, H0207 a required
  // setting is missing, H0208 (YAML), H0001 or H0002 (JSON) a malformed file, H0209 a setting twice in a file, H0210 a
  // value out of bounds, those of `read` (H0003) and those of then(). Several errors become one Error, with the code
  // of the first and a place for each.
  using ReadFile = std::function<Result<std::string>(const std::string& path)>;
  Result<ParseOutcome> parse(const std::vector<std::string>& args,
                             const std::map<std::string, std::string>& environment,
                             const ReadFile& read = {});
  // Reads the text of a settings file into the fields: JSON if `name` ends in .json, YAML otherwise. `name` appears in
  // messages; notices are appended. Errors: those of parse() for a file.
  Status apply_file(std::string_view text, const std::string& name,
                    std::vector<std::string>& notices);
  // Sets a function that recognises settings files of other programs. It returns nullopt for a file with hone's own
  // settings. The entries have the precedence of a settings file.
  using ReadOther =
      std::function<std::optional<OtherFile>(std::string_view text, const std::string& name)>;
  void other_files(ReadOther read) { read_other_ = std::move(read); }
  // Sets a function that gives the remedy for an argument that no setting takes (H0206), such as "did you mean
  // --train_file a.csv?". If it returns "", the error has a general remedy.
  using Advise = std::function<std::string(const std::string& word)>;
  void advise(Advise advise) { advise_ = std::move(advise); }
  // The path of the settings file in the arguments; "": none. Ignores mistakes in the arguments.
  std::string config_file(const std::vector<std::string>& args) const;
  // Checks the arguments that are not flags. Error H0206 if no setting takes one of them. An unknown flag and the words
  // after it are accepted, because they may belong to another schema.
  Status check_arguments(const std::vector<std::string>& args) const;

  // Sets a function that derives settings from other settings, such as those in a file of another program. parse()
  // calls it after all sources are read, before it checks required settings. Errors that it appends are reported
  // together with those of parse().
  using Follow =
      std::function<void(Schema&, std::vector<std::string>& notices, std::vector<Error>& errors)>;
  void then(Follow follow) { follow_ = std::move(follow); }
  // For Follow: sets a setting to `value` from `place`, a text for messages. Errors: H0211 if the user gave a different
  // value, which then stays; and H0202, H0203, H0204 and H0210 of parse().
  Status imply(const std::string& name, const Json& value, const std::string& place,
               std::vector<std::string>& notices);
  // For Follow: sets a setting to `value` unless the user gave a value. Errors: H0202, H0203, H0204 and H0210 of
  // parse().
  Status imply_default(const std::string& name, const Json& value, const std::string& place,
                       std::vector<std::string>& notices);

  // --- asking ---------------------------------------------------------------------------------
  const std::vector<Setting>& all() const { return settings_; }  // in the order of add()
  const Setting& at(const std::string& name) const;  // a Bug if there is no such setting
  const Origin& origin(const std::string& name) const { return at(name).origin; }
  // Returns true if the user gave the setting: in the file, the environment or a flag.
  bool given(const std::string& name) const {
    return origin(name).source > SettingSource::kCommand;
  }
  const std::string& command() const { return command_; }
  const std::string& summary() const { return summary_; }
  const std::vector<std::string>& positional() const { return positional_; }

  // The settings that differ from their default, one a line: "name  value  (origin)" in aligned columns.
  std::string changed_table() const;
  // The values of all settings that are not secret, as an object that apply_file() can read.
  OrderedJson dump() const;
  std::string help(const HelpOptions& how = {}) const;  // the text of --help
  // The reference page in Markdown: a table for each group, old spellings, refused flags.
  std::string reference() const;
  // The parts of help() and reference() that describe the settings, for the page of another schema.
  std::string settings_help(const HelpOptions& how = {}) const;
  std::string settings_reference() const;

 private:
  struct Foreign {  // a flag of other programs, which hone refuses or ignores
    bool refused = false, is_bool = false, is_list = false;
    OrderedJson off;
    std::string why;
  };
  struct Spelling {
    size_t setting = 0;  // index into settings_, unless foreign
    bool deprecated = false;
    bool foreign = false;
  };
  struct Given {  // one flag of the command line
    std::string name, flag;
    Json value;
  };
  // `off` gives the type of the flag and, if it is refused, its harmless value. It is read only during the call.
  void add_foreign(const std::string& name, bool refused, const Field& off, const std::string& why);
  void add_spelling(const std::string& name, Spelling spelling);
  Setting& find(const std::string& name);
  const Setting* find_typed(const std::string& name) const;
  std::vector<std::string> spellings() const;
  Error unknown(const std::string& name, const std::string& shown, const std::string& place) const;
  // Stores a value from `origin`. `name` is any spelling of a setting, or a foreign flag.
  Status apply(const std::string& name, const Json& value, const Origin& origin,
               std::vector<std::string>& notices);
  Status check(const Setting& setting, const Json& value, const std::string& place) const;
  class FlagReader;
  // Appends mistakes to `errors` and returns the correct flags.
  std::vector<Given> read_flags(const std::vector<std::string>& args, ParseOutcome& outcome,
                                std::vector<Error>& errors) const;
  void check_verb(const std::vector<Given>& flags, std::vector<Error>& errors) const;
  void take_other(OtherFile file, std::vector<std::string>& notices, std::vector<Error>& errors);
  void read_entries(std::string_view text, const std::string& name,
                    std::vector<std::string>& notices, std::vector<Error>& errors);
  Error all_of(std::vector<Error> errors) const;
  std::vector<std::string> groups() const;

  std::string command_, summary_;
  std::vector<Setting> settings_;
  std::vector<std::string> positional_;
  std::map<std::string, Spelling> spelling_;
  std::map<std::string, Foreign> foreign_;
  Follow follow_;
  Advise advise_;
  ReadOther read_other_;
};

// The flag and the kind of its value for help, "--learning_rate NUMBER".
std::string flag_form(const Setting& setting);
// The meaning of the setting and its default for help, "initial learning rate [5e-05]".
std::string flag_text(const Setting& setting);

// Returns true if the schema has a setting of this name; aliases do not count.
bool has_setting(const Schema& schema, std::string_view name);
// Returns true if the schema marks some settings as common; a short help shows only those.
bool has_common(const Schema& schema);

}  // namespace hone
