// The registry: a database of runs, models with versions and aliases, decisions, and endpoints. It is SQLite by
// default. Each call is one transaction, so a killed program leaves nothing half done.
//   Registry registry = HONE_TRY(Registry::open(settings.registry));
//   ModelVersion v = HONE_TRY(resolve_model(registry, "news@champion"));   // also "news" and "news:3"
//   serve(v.source, v.model, v.number);
// Errors of all calls: H3132 another program keeps the registry locked; H3133 the registry cannot be read or written
// (full disk, not a database, server not reachable); and the errors that the calls list below.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/registry/database.h"

namespace hone {

inline constexpr const char* kChampion = "champion";  // the alias of the version to deploy

// In all structs below: times are UTC with milliseconds, "2026-05-04T12:30:05.123Z"; an unknown text is "", and an
// unknown number is 0. Everything that is written passes through redact_secrets() (base/core/redact.h), so the registry
// holds no secrets.
using Labels = std::map<std::string, std::string>;

struct RegisteredRun {
  std::string id = {};  // RunInfo::id
  std::string name = {}, task = {};
  OrderedJson params = OrderedJson::object();   // settings of the run
  OrderedJson metrics = OrderedJson::object();  // the content of all_results.json
  // Hashes of the run's training files: results of hash_data() (model_hash.h), separated by blanks.
  std::string data_hash = {};
  std::string model_hash = {};  // hash_model() of the initial model
  // `status` is from RunRow::status() (operate/monitor/run_list.h). `started` and `ended` are times.
  std::string status = {}, started = {}, ended = {};
  // Other facts that decide the result: hone's version, the command, the machine, its instruction set, the data files.
  OrderedJson record = OrderedJson::object();
};

struct RegisteredModel {
  std::string name = {}, description = {};
  Labels labels = {};
  std::string created = {};
  int64_t versions = 0;                         // how many versions it has
  std::map<std::string, int64_t> aliases = {};  // alias -> number of the version
};

struct ModelVersion {
  std::string model = {};
  int64_t number = 0;       // from 1
  std::string source = {};  // absolute path or URL of the folder with the model files
  std::string hash = {};    // hash_model() of the model files (model_hash.h)
  // Record of the model files if `source` is in a bucket: pin_files() (pinned_files.h).
  OrderedJson files = OrderedJson::array();
  // RegisteredRun::id of the run that made it; "": none.
  std::string run_id = {};
  std::string task = {};                        // "summarization", "clm" ...
  OrderedJson metrics = OrderedJson::object();  // the content of the folder's all_results.json
  std::string evaluation = {};                  // folder with eval_examples.jsonl of this version
  // The model that training began from: "news:2", a folder or a hub name.
  std::string parent = {};
  std::string data_hash = {};  // RegisteredRun::data_hash of its run
  Labels labels = {};
  std::string created = {};
  std::vector<std::string> aliases = {};  // the aliases that name this version now
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
  int64_t version = 0, against = 0;  // against: the version that the alias named before; 0: none
  std::string verdict = {};          // "promote", "refuse" or "hold"
  std::string reason = {};           // a sentence
  OrderedJson evidence = OrderedJson::object();  // the facts that decide() compared (decide.h)
  std::string time = {};
};

struct DeployedModel {
  std::string id = {};  // numeric
  std::string model = {};
  int64_t version = 0;
  int64_t traffic = 100;  // percent of the endpoint's requests; the sum of an endpoint is 100
  std::string created = {};
};
// The process that answers for an endpoint. If it is on another machine or in another container, requests to
// Endpoint::address are the only way to check it.
struct EndpointServer {
  std::string space = {};  // process_space()
  std::string host = {};   // name of the machine
  int64_t pid = 0;         // number of the process; 0: no server
  std::string start = {};  // start_of_process(pid)
  // A random id that hone deploy gives to the server that it is starting. This server may take the endpoint only while
  // `awaited` is its id. "": no server is being started.
  std::string awaited = {};
  bool operator==(const EndpointServer&) const = default;
  bool is(const EndpointServer& other) const {
    return pid == other.pid && start == other.start && space == other.space;
  }
};
struct Endpoint {
  std::string id = {};            // numeric; set_endpoint() accepts ""
  std::string display_name = {};  // unique
  std::string model = {};         // the registered model for which it was made
  std::string address = {};       // "http://127.0.0.1:8080"; "": the endpoint has no server
  std::string created = {}, changed = {};
  std::vector<DeployedModel> deployed = {};
  OrderedJson serving = OrderedJson::object();  // settings of hone serve, with host and port
  EndpointServer server = {};
};

// A random numeric id in Vertex AI's form; two ids are equal with probability 1e-18.
std::string new_numeric_id();

class Registry {
 public:
  // `address`: see Database::open. "": the variable HONE_REGISTRY, else $XDG_DATA_HOME/hone/registry.db, else
  // ~/.local/share/hone/registry.db. Errors: H3131 the address cannot be used; H3134 a newer hone made the registry.
  static Result<Registry> open(const std::string& address = "");
  const std::string& address() const { return db_->shown(); }  // the address without a password
  // The address as given, which may have a password. Never show it; use it for the variable HONE_REGISTRY of another
  // process.
  const std::string& whole_address() const { return address_; }

  // In the calls below, H3135 means: there is no such run, model, version, alias or endpoint.

  // --- runs ---

  // Adds a run, or replaces the one with the same id.
  Status put_run(const RegisteredRun& run);
  Result<std::vector<RegisteredRun>> runs();         // the newest first
  Result<RegisteredRun> run(const std::string& id);  // H3135

  // --- models and versions ---

  // Adds a version, and the model if it is new. Ignores `number`, `created` and `aliases` of `version`, and returns the
  // stored version. If the model already has a version with this hash, updates and returns that one, so a killed
  // program may register again: missing metrics and a missing evaluation are filled in; existing ones are replaced if
  // `replaced` names them ("metrics", "evaluation"); a new source that is a URL replaces the stored source and files.
  // The same transaction stores the run, unless its id is "", and sets `alias`, unless it is "". Error H3136: the name
  // of a new model or the alias cannot be used.
  Result<ModelVersion> add_version(const ModelVersion& version, const RegisteredRun& run = {},
                                   const std::string& alias = "",
                                   const std::vector<std::string>& replaced = {});
  Result<std::vector<RegisteredModel>> models();
  Result<RegisteredModel> model(const std::string& name);  // H3135
  // Replaces the description and labels of a model. H3135.
  Status describe(const std::string& name, const std::string& description, const Labels& labels);
  // The versions of a model, by number.
  Result<std::vector<ModelVersion>> versions(const std::string& model);    // H3135
  Result<ModelVersion> version(const std::string& model, int64_t number);  // H3135

  // --- aliases ---

  Result<ModelVersion> aliased(const std::string& model, const std::string& alias);  // H3135
  // Makes the alias name this version; does nothing if the alias already names it. Errors: H3135; H3136 the alias
  // cannot be used as a name.
  Status set_alias(const std::string& model, const std::string& alias, int64_t version,
                   const std::string& reason = "");
  // Undoes the last set_alias() of the alias that is not undone yet, and returns the version that the alias names then.
  // Errors: H3135; H3137 there is no former version.
  Result<ModelVersion> roll_back(const std::string& model, const std::string& alias = kChampion,
                                 const std::string& reason = "");
  Result<std::vector<AliasChange>> alias_changes(const std::string& model);  // the oldest first

  // --- decisions ---

  // Records a decision and, if its verdict is "promote", sets `alias` to its version, in one transaction. Returns the
  // decision with its id and time. Errors: H3135; H3138 the alias no longer names the version `decision.against` (0: no
  // version), so decide again.
  Result<Decision> record(const Decision& decision, const std::string& alias = kChampion);
  Result<std::vector<Decision>> decisions(const std::string& model);  // the newest first

  // --- endpoints ---

  // Stores an endpoint with its deployed models, and returns it. Replaces the endpoint with the same id; if `id` is "",
  // replaces the endpoint with the same display name, or adds a new endpoint if no endpoint has this name. Deployed
  // models without an id get one. Errors: H3135 a version is not registered; H3136 the display name cannot be used;
  // H3139 the traffic does not sum to 100 %.
  Result<Endpoint> set_endpoint(const Endpoint& endpoint);
  Result<std::vector<Endpoint>> endpoints();
  Result<Endpoint> endpoint(const std::string& id_or_display_name);  // H3135
  Status remove_endpoint(const std::string& id_or_display_name);     // H3135

  Database& database() { return *db_; }  // for transactions of several calls

 private:
  Registry(std::unique_ptr<Database> db, std::string address)
      : db_(std::move(db)), address_(std::move(address)) {}
  std::unique_ptr<Database> db_;
  std::string address_;
};

// The version that a text names: "NAME" (the champion of the model NAME, else its newest version), "NAME@alias" or
// "NAME:3". Error H3135: there is no such version; the error has the nearest name.
Result<ModelVersion> resolve_model(Registry& registry, const std::string& text);

// Checks a new name. `what` describes it in the error: "a model", "an alias". A name has at most 200 characters, which
// are letters, digits, blanks and "_.-"; it begins with a letter or digit and does not end with a blank. Existing names
// from older versions of hone may have slashes. So quote names in printed commands, and percent-encode them in URLs.
// Error H3136: the name cannot be used.
Status check_registry_name(const std::string& what, const std::string& name);

}  // namespace hone
