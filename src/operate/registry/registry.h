// The registry: runs, models with versions and aliases, decisions, endpoints. It is one database,
// SQLite by default; each call is one transaction, so a killed program leaves nothing half done.
//   Registry registry = HONE_TRY(Registry::open(settings.registry));
//   ModelVersion v = HONE_TRY(resolve_model(registry, "news@champion"));   // also "news" and "news:3"
//   serve(v.source, v.model, v.number);
// Errors of all calls: H3132 (locked), H3133 (full disk, not a database, server away), and the
// errors listed below.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/registry/database.h"

namespace hone {

inline constexpr const char* kChampion = "champion";  // the alias of the version to deploy

// Times are UTC with milliseconds, "2026-05-04T12:30:05.123Z". Unknown texts are "" and unknown
// numbers 0. Objects hold no secrets: everything written passes through redact_secrets()
// (redact.h).
using Labels = std::map<std::string, std::string>;

struct RegisteredRun {
  std::string id = {};  // RunInfo::id
  std::string name = {}, task = {};
  OrderedJson params = OrderedJson::object();   // settings of the run
  OrderedJson metrics = OrderedJson::object();  // as all_results.json
  std::string data_hash = {};                   // of its training files
  std::string model_hash = {};                  // of the initial model
  std::string status = {}, started = {}, ended = {};
  // Other facts that decide the result: hone's version, command, machine, instruction set, threads.
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
  OrderedJson files =
      OrderedJson::array();  // of a source in a bucket: pin_files() (pinned_files.h)
  std::string run_id = {};
  std::string task = {};                        // "summarization", "clm" ...
  OrderedJson metrics = OrderedJson::object();  // equal to all_results.json of the folder
  std::string evaluation = {};                  // folder with eval_examples.jsonl of this version
  std::string parent = {};  // its initial model: "news:2", a folder, a name of the hub
  std::string data_hash = {};
  Labels labels = {};
  std::string created = {};
  std::vector<std::string> aliases = {};  // names of this version now
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
  int64_t version = 0, against = 0;  // against: the version that the alias named then; 0: none
  std::string verdict = {};          // promote, refuse or hold
  std::string reason = {};           // a sentence
  OrderedJson evidence = OrderedJson::object();
  std::string time = {};
};

struct DeployedModel {
  std::string id = {};  // numeric
  std::string model = {};
  int64_t version = 0;
  int64_t traffic = 100;  // percent of the requests; an endpoint's sum is 100
  std::string created = {};
};
// The process that answers for an endpoint. If it is on another machine or in another container, only its
// address can be asked.
struct EndpointServer {
  std::string space = {};  // process_space()
  std::string host = {};   // name of the machine
  int64_t pid = 0;         // 0: none
  std::string start = {};  // start_of_process(pid)
  // The word of a server that hone deploy is starting; it may take the endpoint only as long as the word is here.
  std::string awaited = {};
  bool operator==(const EndpointServer&) const = default;
  bool is(const EndpointServer& other) const {
    return pid == other.pid && start == other.start && space == other.space;
  }
};
struct Endpoint {
  std::string id = {};            // numeric; "" in set_endpoint: choose a new one
  std::string display_name = {};  // unique
  std::string model = {};         // model that gives it its name
  std::string address = {};       // "http://127.0.0.1:8080"; "": not served
  std::string created = {}, changed = {};
  std::vector<DeployedModel> deployed = {};
  OrderedJson serving = OrderedJson::object();  // settings of hone serve, with host and port
  EndpointServer server = {};
};

// A random numeric id in Vertex AI's form; collisions have probability 1e-18.
std::string new_numeric_id();

class Registry {
 public:
  // `address`: see Database::open; "": $HONE_REGISTRY, else $XDG_DATA_HOME/hone/registry.db, else
  // ~/.local/share/hone/registry.db. Errors: H3131, H3134.
  static Result<Registry> open(const std::string& address = "");
  const std::string& address() const { return db_->shown(); }  // without a password
  // As given, perhaps with a password: for another process's HONE_REGISTRY, never for people.
  const std::string& whole_address() const { return address_; }

  // --- runs: put_run adds a run or replaces the one with the same id ---
  Status put_run(const RegisteredRun& run);
  Result<std::vector<RegisteredRun>> runs();         // the newest first
  Result<RegisteredRun> run(const std::string& id);  // H3135

  // --- models and versions ---
  // Adds a version, and the model if it is new; ignores `number`, `created` and `aliases` of
  // `version`. If the model has a version with this hash already, returns that one, so a killed
  // program may register again. Missing metrics and evaluation are then filled in; existing ones
  // are replaced if `replaced` names them ("metrics", "evaluation"). A URL as source, with its
  // files, takes the place of the former source. The same transaction stores
  // the run, unless its id is "", and sets `alias`, unless it is "". H3136.
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
  // Does nothing if the alias names this version already. H3135, H3136.
  Status set_alias(const std::string& model, const std::string& alias, int64_t version,
                   const std::string& reason = "");
  // Returns the alias to its former version; again: one more back. H3135, H3137.
  Result<ModelVersion> roll_back(const std::string& model, const std::string& alias = kChampion,
                                 const std::string& reason = "");
  Result<std::vector<AliasChange>> alias_changes(const std::string& model);  // the oldest first

  // --- decisions ---
  // Records a decision and, if its verdict is promote, sets `alias`, in one transaction. Returns it
  // with id and time. H3135; H3138 if the alias no longer names `against` (0: nothing): decide
  // again.
  Result<Decision> record(const Decision& decision, const std::string& alias = kChampion);
  Result<std::vector<Decision>> decisions(const std::string& model);  // the newest first

  // --- endpoints ---
  // Adds an endpoint, or replaces the one with this id or, if the id is "", with this display name,
  // and its deployed models. Deployed models without an id get one. Returns the stored one. H3135 a
  // version that is not registered, H3136 an unusable display name, H3139 traffic that does not sum
  // to 100 %.
  Result<Endpoint> set_endpoint(const Endpoint& endpoint);
  Result<std::vector<Endpoint>> endpoints();
  Result<Endpoint> endpoint(const std::string& id_or_display_name);  // H3135
  Status remove_endpoint(const std::string& id_or_display_name);     // H3135

  Database& database() { return *db_; }  // for consistency checks

 private:
  Registry(std::unique_ptr<Database> db, std::string address)
      : db_(std::move(db)), address_(std::move(address)) {}
  std::unique_ptr<Database> db_;
  std::string address_;
};

// NAME (its champion, else its newest version), NAME@alias or NAME:3. H3135 with the nearest name.
Result<ModelVersion> resolve_model(Registry& registry, const std::string& text);

// Letters, digits, blanks and "_.-", at most 200, beginning with a letter or digit. Asked for new names alone: older ones
// may have slashes. Print names quoted in commands and in % codes in URLs. H3136.
Status check_registry_name(const std::string& what, const std::string& name);

}  // namespace hone
