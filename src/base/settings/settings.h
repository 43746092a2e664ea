// Settings of a command: one schema makes its flags, settings file (YAML or JSON), environment
// variables, --help, --dump-config, suggestions for a typo and the reference page.
//
//   struct Settings : CommonSettings, TrainSettings {   // see fields.inc
//     void bind(Schema& s) { CommonSettings::bind(s); TrainSettings::bind(s); }
//   };
//   Settings settings;
//   Schema schema("hone train", "fine-tune a model");
//   settings.bind(schema);
//   ParseOutcome outcome = HONE_TRY(schema.parse(args, environment_settings()));
//   use(settings.learning_rate);                     // a plain typed member
//   schema.origin("learning_rate").source;           // kFlag
//
// Precedence: default < preset of the command < file < environment (HONE_LEARNING_RATE) < flags.
// `-` and `_` are the same in names. A flag is --name value, --name=value, and for a bool also
// --name alone or --no_name. A list takes all words up to the next flag, or one "a,b". Everything
// that is wrong with the flags, the file and the variables of one call is one Error. The file is
// --config FILE, or the first argument that is neither a flag nor a flag's value, when its name
// ends in .yaml, .yml or .json.
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

enum class SettingSource { kDefault, kCommand, kFile, kEnvironment, kFlag };
struct Origin {
  SettingSource source = SettingSource::kDefault;
  std::string place = "default";  // "run.yaml:3:1", "HONE_SEED", "--seed", "hone train"
};

struct Setting {
  std::string name, group, help;
  Field field;
  OrderedJson default_value;
  Origin origin;
  std::vector<std::string> choices, aliases;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool required = false, secret = false;
  bool common = false;  // help() shows it without `all`
  // The parts of the results that the setting affects, in the words of learn/train/ledger.h
  // ("rows"). The default is "bits", so a setting that names none is compared on resume.
  std::vector<std::string> decides = {"bits"};
  OrderedJson defined_value;  // the default of its line, which an object may have changed

  // The choices for help, without the empty one, which means "not set".
  std::vector<std::string> words() const;
  OrderedJson value() const;
  bool changed() const;
};

struct ParseOutcome {
  bool help = false;                 // print schema.help() and end
  bool help_all = false;             // --help all
  std::string verb;                  // with help: the verb beside --help; "": none
  bool dump_config = false;          // print schema.dump() and end
  std::string config_file;           // "": none
  std::vector<std::string> notices;  // one line each: old spellings, flags without effect
};

// A settings file of another program, in words of this command's settings.
struct OtherFile {
  struct Entry {
    std::string setting;
    Json value;
    std::string place;  // "run.yaml:3:1 lora_r"
  };
  std::vector<Entry> entries;  // the last one of a setting counts
  std::vector<std::string> notices;
  std::vector<Error> errors;
};

struct HelpOptions {
  int width = 80;         // columns; 40 to 120 are used
  bool all = true;        // false: only the common settings, if the schema marks some
  std::string verb = "";  // settings of this verb alone
};

// The variables HONE_* of this process.
std::map<std::string, std::string> environment_settings();

class Schema {
 public:
  Schema(std::string command, std::string summary);
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;
  ~Schema();

  // --- describing (fields.inc calls most of these; a mistake is a Bug) -----------------------
  // The field must outlive the schema; its current value is the default.
  void add(const std::string& name, Field field, const std::string& group, const std::string& help);
  // `words` as in the line of the settings.def: "", "nothing", or "source, order".
  void decides(const std::string& name, std::string_view words, const Field& defined);
  void choices(const std::string& name, std::vector<std::string> allowed);
  void bounds(const std::string& name, double least, double most);
  void alias(const std::string& name, const std::string& other, bool deprecated);
  void required(const std::string& name);
  void secret(const std::string& name);
  void common(const std::string& name, bool is = true);
  template <class T>  // one of a Field's
  void refused(const std::string& name, T off, const std::string& why) {
    add_foreign(name, true, Field(&off), why);
  }
  template <class T>
  void ignored(const std::string& name, const std::string& why) {
    T any{};
    add_foreign(name, false, Field(&any), why);
  }
  // A value that this command sets before file, environment and flags.
  void preset(const std::string& name, const std::string& value);
  // Arguments that are not flags fill these settings, in the order of the calls.
  void positional(const std::string& name);

  // --- reading --------------------------------------------------------------------------------
  // `args` follow the command. Errors: H0201 to H0210, H0003, H0001. Several come as one Error with
  // the code of the first and a line for each.
  using ReadFile = std::function<Result<std::string>(const std::string& path)>;
  Result<ParseOutcome> parse(const std::vector<std::string>& args,
                             const std::map<std::string, std::string>& environment,
                             const ReadFile& read = {});
  // Reads the text of a settings file; JSON if `name` ends in .json, YAML otherwise.
  Status apply_file(std::string_view text, const std::string& name,
                    std::vector<std::string>& notices);
  // Recognises settings files of other programs: nullopt for a file of the command's own settings. Entries
  // have the precedence of a file.
  using ReadOther =
      std::function<std::optional<OtherFile>(std::string_view text, const std::string& name)>;
  void other_files(ReadOther read) { read_other_ = std::move(read); }
  // Gives advice on an argument that no setting takes, "did you mean --train_file a.csv?"; "": nothing is known about
  // the word. Its H0206 then has the general advice.
  using Advise = std::function<std::string(const std::string& word)>;
  void advise(Advise advise) { advise_ = std::move(advise); }
  // The settings file in the arguments; "" if there is none, or they cannot be read.
  std::string config_file(const std::vector<std::string>& args) const;
  // Refuses arguments that no setting takes. A flag that the schema lacks may be another schema's: its values are
  // accepted. Errors: H0206.
  Status check_arguments(const std::vector<std::string>& args) const;

  // Derives settings from the ones that were read, such as a file of another program. Called before
  // --dump_config and before the check of required settings. Its errors are printed together with
  // all others.
  using Follow =
      std::function<void(Schema&, std::vector<std::string>& notices, std::vector<Error>& errors)>;
  void then(Follow follow) { follow_ = std::move(follow); }
  // For Follow: sets `value`, read at `place`. Errors: H0211 if the user gave another value, and the
  // errors of a settings file, such as a refused setting.
  Status imply(const std::string& name, const Json& value, const std::string& place,
               std::vector<std::string>& notices);
  // For Follow: sets `value`, unless the user gave another one.
  Status imply_default(const std::string& name, const Json& value, const std::string& place,
                       std::vector<std::string>& notices);

  // --- asking ---------------------------------------------------------------------------------
  const std::vector<Setting>& all() const { return settings_; }
  const Setting& at(const std::string& name) const;  // by its own name; a Bug if absent
  const Origin& origin(const std::string& name) const { return at(name).origin; }
  bool given(const std::string& name) const {
    return origin(name).source > SettingSource::kCommand;
  }
  const std::string& command() const { return command_; }
  const std::string& summary() const { return summary_; }
  const std::vector<std::string>& positional() const { return positional_; }

  // Settings that differ from their default: "name  value  (origin)" in aligned columns.
  std::string changed_table() const;
  // Every setting that is not secret, as JSON that apply_file reads back.
  OrderedJson dump() const;
  std::string help(const HelpOptions& how = {}) const;
  // The reference page in Markdown: a table for each group, old spellings, refused flags.
  std::string reference() const;
  // The part of help() and reference() about settings, for the page of another schema.
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
  // `off` is read only now: the type of the flag, and the harmless value of a refused one.
  void add_foreign(const std::string& name, bool refused, const Field& off, const std::string& why);
  void add_spelling(const std::string& name, Spelling spelling);
  Setting& find(const std::string& name);
  const Setting* find_typed(const std::string& name) const;
  std::vector<std::string> spellings() const;
  Error unknown(const std::string& name, const std::string& shown, const std::string& place) const;
  // Stores a value that came from `origin` under any spelling of a setting.
  Status apply(const std::string& name, const Json& value, const Origin& origin,
               std::vector<std::string>& notices);
  Status check(const Setting& setting, const Json& value, const std::string& place) const;
  class FlagReader;
  // Adds mistakes to `errors` and reads the rest.
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

// The flag and the kind of its value, "--learning_rate NUMBER"; its meaning, with its default.
std::string flag_form(const Setting& setting);
std::string flag_text(const Setting& setting);

// Whether the schema has a setting of this name; other spellings do not count.
bool has_setting(const Schema& schema, std::string_view name);
// Whether some settings are common, so that help shows them alone.
bool has_common(const Schema& schema);

}  // namespace hone
