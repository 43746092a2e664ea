// The registry: runs, models with versions and aliases, decisions, endpoints. One database, SQLite where
// nothing else is named; each call is one transaction, so that a program that is killed leaves nothing half
// done.
//
//   Registry registry = HONE_TRY(Registry::open(settings.registry));
//   ModelVersion v = HONE_TRY(resolve_model(registry, "news@champion"));   // also "news" and "news:3"
//   serve(v.source, v.model, v.number);
//
// Errors of all calls: H3132 (locked), H3133 (full disk, not a database, server away), and those named here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/registry/database.h"

namespace hone {

inline constexpr const char* kChampion = "champion";  // the alias of the version that is deployed

// Times are UTC with milliseconds, "2026-05-04T12:30:05.123Z". Texts are "" and numbers 0 where something is
// not known. Objects hold no secrets: whatever is written passes through redact_secrets() (redact.h).
using Labels = std::map<std::string, std::string>;

struct RegisteredRun {
  std::string id = {};  // RunInfo::id
  std::string name = {}, task = {};
  OrderedJson params = OrderedJson::object();   // settings of the run
  OrderedJson metrics = OrderedJson::object();  // as all_results.json
  std::string data_hash = {};                   // of the files it trained on
  std::string model_hash = {};                  // of the model that it started from
  std::string status = {}, started = {}, ended = {};
  // What else decides the result: hone's version, command, machine, instruction set, threads.
  OrderedJson record = OrderedJson::object();
};

struct RegisteredModel {
  std::string name = {}, description = {};
  Labels labels = {};
  std::string created = {};
  int64_t versions = 0;                         // their number
  std::map<std::string, int64_t> aliases = {};  // alias -> version
};

struct ModelVersion {
  std::string model = {};
  int64_t number = 0;       // from 1
  std::string source = {};  // folder (absolute) or URL of the model files
  std::string hash = {};    // of the model files: hash_model() (model_hash.h)
  std::string run_id = {};
  std::string task = {};                        // "summarization", "clm" ...
  OrderedJson metrics = OrderedJson::object();  // equal to all_results.json of the folder
  std::string evaluation = {};                  // folder with eval_examples.jsonl of this version
  std::string parent = {};  // what it was trained from: "news:2", a folder, a name of the hub
  std::string data_hash = {};
  Labels labels = {};
  std::string created = {};
  std::vector<std::string> aliases = {};  // that name this version now
  std::string uri() const { return fmt::format("models:/{}/{}", model, number); }
  std::string reference() const { return fmt::format("{}:{}", model, number); }
};

struct AliasChange {
  std::string alias = {};
  int64_t version = 0;
  std::string change = {};  // "set" or "rollback"
  std::string reason = {}, time = {};
};

struct Decision {
  int64_t id = 0;
  std::string model = {};
  int64_t version = 0, against = 0;  // against: the version that was deployed; 0: none was
  std::string verdict = {};          // promote, refuse or hold
  std::string reason = {};           // a sentence
  OrderedJson evidence = OrderedJson::object();
  std::string time = {};
};

struct DeployedModel {
  std::string id = {};  // numeric
  std::string model = {};
  int64_t version = 0;
  int64_t traffic = 100;  // percent of the requests; 100 in all of an endpoint
  std::string created = {};
};
struct Endpoint {
  std::string id = {};            // numeric; "" in set_endpoint: a new one is chosen
  std::string display_name = {};  // unique
  std::string model = {};         // what it is named after
  std::string address = {};       // "http://127.0.0.1:8080", "" while nothing serves it
  std::string created = {}, changed = {};
  std::vector<DeployedModel> deployed = {};
};

// Digits as Vertex AI's ids have them; nobody else's with a chance of one to 10^18.
std::string new_numeric_id();

class Registry {
 public:
  // `address` as Database::open has it; "": $HONE_REGISTRY, else $XDG_DATA_HOME/hone/registry.db, else
  // ~/.local/share/hone/registry.db. Errors: H3131, H3134.
  static Result<Registry> open(const std::string& address = "");
  const std::string& address() const { return db_->shown(); }  // without a password
  // As it was given, with a password perhaps: for another process's HONE_REGISTRY, never for people.
  const std::string& whole_address() const { return address_; }

  // --- runs: put adds one or replaces the one of the same id ---
  Status put_run(const RegisteredRun& run);
  Result<std::vector<RegisteredRun>> runs();         // the newest first
  Result<RegisteredRun> run(const std::string& id);  // H3135

  // --- models and versions ---
  // Adds a version, and the model where it is new; `number`, `created` and `aliases` of `version` do not
  // count. Where the model has a version of this hash already, that one is returned, so that a program that
  // was killed may register again; metrics and evaluation are filled in if it has none,
  // and replaced if `replaced` names them ("metrics", "evaluation"). The run, if its id
  // is not "", is put in the same transaction; `alias`, if not "", names the version then. H3136.
  Result<ModelVersion> add_version(const ModelVersion& version, const RegisteredRun& run = {},
                                   const std::string& alias = "",
                                   const std::vector<std::string>& replaced = {});
  Result<std::vector<RegisteredModel>> models();
  Result<RegisteredModel> model(const std::string& name);  // H3135
  Status describe(const std::string& name, const std::string& description,
                  const Labels& labels);                                   // H3135
  Result<std::vector<ModelVersion>> versions(const std::string& model);    // H3135
  Result<ModelVersion> version(const std::string& model, int64_t number);  // H3135

  // --- aliases ---
  Result<ModelVersion> aliased(const std::string& model, const std::string& alias);  // H3135
  // Nothing changes where the alias names this version already. H3135, H3136.
  Status set_alias(const std::string& model, const std::string& alias, int64_t version,
                   const std::string& reason = "");
  // Back to the version that the alias named before; again: one further. H3135, H3137.
  Result<ModelVersion> roll_back(const std::string& model, const std::string& alias = kChampion,
                                 const std::string& reason = "");
  Result<std::vector<AliasChange>> alias_changes(const std::string& model);  // the oldest first

  // --- decisions ---
  // Records it and, where its verdict is promote, sets `alias`: one transaction. The id and the time are
  // returned. H3135; H3138 where the alias does not name `against` (0: nothing) any more: decide again.
  Result<Decision> record(const Decision& decision, const std::string& alias = kChampion);
  Result<std::vector<Decision>> decisions(const std::string& model);  // the newest first

  // --- endpoints ---
  // Adds one, or replaces the one of this id or, where the id is "", of this display name, with what is
  // deployed there. Deployed models without an id get one. Gives what is stored. H3135 a version that is not
  // registered, H3136 a display name that cannot be used, H3139 traffic that is not 100 % in all.
  Result<Endpoint> set_endpoint(const Endpoint& endpoint);
  Result<std::vector<Endpoint>> endpoints();
  Result<Endpoint> endpoint(const std::string& id_or_display_name);  // H3135
  Status remove_endpoint(const std::string& id_or_display_name);     // H3135

  Database& database() { return *db_; }  // for checks of the whole

 private:
  Registry(std::unique_ptr<Database> db, std::string address)
      : db_(std::move(db)), address_(std::move(address)) {}
  std::unique_ptr<Database> db_;
  std::string address_;
};

// NAME (its champion, else its newest version), NAME@alias or NAME:3. H3135 with the nearest name.
Result<ModelVersion> resolve_model(Registry& registry, const std::string& text);

// "Letters, digits and _.-" up to 200, beginning with a letter or digit; blanks within a model's or an
// endpoint's name are allowed. H3136.
Status check_registry_name(const std::string& what, const std::string& name);

}  // namespace hone
