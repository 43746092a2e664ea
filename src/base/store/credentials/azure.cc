#include "base/store/credentials/azure.h"

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/credentials/crypto.h"
#include "base/store/errors.h"
#include "base/unicode/base64.h"

namespace hone {
namespace {

std::string first_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::string value = environment(name); !value.empty()) return value;
  return "";
}

constexpr const char* kStorage = "https://storage.azure.com/";
constexpr const char* kStorageScope = "https://storage.azure.com/.default";
// The account of the emulator, the same everywhere (Azurite's documentation).
constexpr const char* kDevelopmentAccount = "devstoreaccount1";
constexpr const char* kDevelopmentKey =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

// A token of Microsoft Entra for a client, by its secret or by the token of another provider.
BearerToken::Fetch client_token(const std::shared_ptr<HttpClient>& http, const std::string& where,
                                const std::string& tenant, const std::string& token_file) {
  return [=]() -> Result<BearerToken::Token> {
    std::string authority = environment("AZURE_AUTHORITY_HOST");
    if (authority.empty()) authority = "https://login.microsoftonline.com";
    while (authority.ends_with('/')) authority.pop_back();
    const std::string client = environment("AZURE_CLIENT_ID");
    std::string body = form_text(
        {{"grant_type", "client_credentials"}, {"client_id", client}, {"scope", kStorageScope}});
    if (token_file.empty()) {
      body += "&" + form_text({{"client_secret", environment("AZURE_CLIENT_SECRET")}});
    } else {
      const std::string token = HONE_TRY(read_file(token_file));
      body += "&" + form_text({{"client_assertion_type",
                                "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
                               {"client_assertion", trim(token)}});
    }
    const HttpRequest request{.method = "POST",
                              .url = authority + "/" + tenant + "/oauth2/v2.0/token",
                              .headers = {{"content-type", "application/x-www-form-urlencoded"}},
                              .body = std::as_bytes(std::span(body)),
                              .name = "the token server"};
    return ask_for_token(*http, request, where);
  };
}

// The machine's own identity; the server of a web app differs from that of a machine.
HttpRequest identity_request() {
  const std::string app = environment("IDENTITY_ENDPOINT"), client = environment("AZURE_CLIENT_ID");
  std::string url =
      app.empty() ? "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01"
                  : app + "?api-version=2019-08-01";
  url += "&resource=" + url_encoded(kStorage);
  if (!client.empty()) url += "&client_id=" + url_encoded(client);
  HttpHeaders headers = {{"metadata", "true"}};
  if (!app.empty()) headers["x-identity-header"] = environment("IDENTITY_HEADER");
  return {.url = url, .headers = headers, .name = "the identity server"};
}

}  // namespace

Result<std::unique_ptr<AzureCredentials>> AzureCredentials::find(const std::string& account,
                                                                 HttpClient::Options options) {
  auto c = std::make_unique<AzureCredentials>();
  std::string protocol = "https", suffix = "core.windows.net", key;
  c->account_ = account;
  if (const std::string text = environment("AZURE_STORAGE_CONNECTION_STRING"); !text.empty()) {
    c->source_ = "AZURE_STORAGE_CONNECTION_STRING";
    for (const std::string& part : split(text, ';')) {
      const size_t equals = part.find('=');
      if (equals == std::string::npos) continue;
      const std::string name(trim(part.substr(0, equals))), value(trim(part.substr(equals + 1)));
      if (name == "AccountName" && account.empty()) c->account_ = value;
      if (name == "AccountKey") key = value;
      if (name == "BlobEndpoint") c->endpoint_ = value;
      if (name == "SharedAccessSignature") c->sas_ = value;
      if (name == "DefaultEndpointsProtocol") protocol = value;
      if (name == "EndpointSuffix") suffix = value;
      if (name == "UseDevelopmentStorage" && value == "true") {
        c->account_ = kDevelopmentAccount;
        key = kDevelopmentKey;
        c->endpoint_ = fmt::format("http://127.0.0.1:10000/{}", kDevelopmentAccount);
      }
    }
  } else {
    if (account.empty())
      c->account_ = first_of({"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"});
    key = first_of({"AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"});
    c->sas_ = environment("AZURE_STORAGE_SAS_TOKEN");
    c->source_ = !key.empty()       ? "AZURE_STORAGE_KEY"
                 : !c->sas_.empty() ? "AZURE_STORAGE_SAS_TOKEN"
                                    : "none";
  }
  if (c->account_.empty())
    return Error(err::kCredentials, "the address names no storage account")
        .todo(
            "set AZURE_STORAGE_ACCOUNT, or write "
            "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/...");
  if (c->endpoint_.empty())
    c->endpoint_ = fmt::format("{}://{}.blob.{}", protocol, c->account_, suffix);
  while (c->endpoint_.ends_with('/')) c->endpoint_.pop_back();
  while (c->sas_.starts_with('?')) c->sas_.erase(0, 1);
  if (!key.empty() && !decode_base64(key, c->key_))
    return Error(err::kCredentials, "the key of the storage account is not base64")
        .at(c->source_)
        .todo("copy it again from the account's page 'Access keys'");
  if (!key.empty() || !c->sas_.empty()) return c;

  const std::string tenant = environment("AZURE_TENANT_ID"),
                    token_file = environment("AZURE_FEDERATED_TOKEN_FILE");
  const auto http = std::make_shared<HttpClient>(options);
  if (!tenant.empty() && (!token_file.empty() || !environment("AZURE_CLIENT_SECRET").empty())) {
    c->source_ = token_file.empty() ? "AZURE_CLIENT_SECRET" : "AZURE_FEDERATED_TOKEN_FILE";
    c->token_ = std::make_unique<BearerToken>(client_token(http, c->source_, tenant, token_file));
    return c;
  }
  HttpClient once({.connect_timeout_seconds = 1, .retries = 0});
  const Result<HttpResponse> there = once.send(identity_request());
  if (!there.ok() || there->status != 200) return c;
  c->source_ = "the managed identity of this machine";
  c->token_ = std::make_unique<BearerToken>(
      [http, where = c->source_] { return ask_for_token(*http, identity_request(), where); });
  return c;
}

Result<std::string> AzureCredentials::authorization(const std::string& text,
                                                    const std::string& refused) {
  if (!key_.empty())
    return fmt::format("SharedKey {}:{}", account_, encode_base64(hmac_sha256(key_, text)));
  if (!token_) return std::string();
  return token_->header(refused);
}

}  // namespace hone
