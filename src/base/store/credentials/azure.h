// Credentials of Azure Blob storage.
//
// In this order: AZURE_STORAGE_CONNECTION_STRING; the account AZURE_STORAGE_ACCOUNT (or
// AZURE_STORAGE_ACCOUNT_NAME) with AZURE_STORAGE_KEY (AZURE_STORAGE_ACCOUNT_KEY), with
// AZURE_STORAGE_SAS_TOKEN, with AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET or
// AZURE_FEDERATED_TOKEN_FILE (workload identity), or with the managed identity of the machine
// (IDENTITY_ENDPOINT, else the metadata server). Without any, requests are not signed.
#pragma once

#include <memory>
#include <string>

#include "base/store/credentials/bearer.h"
#include "base/store/http.h"

namespace hone {

class AzureCredentials {
 public:
  // Finds credentials; `account` is "" if the address names none. H0119: no account, or a malformed
  // value.
  static Result<std::unique_ptr<AzureCredentials>> find(const std::string& account,
                                                        HttpClient::Options http = {});

  const std::string& account() const { return account_; }
  const std::string& endpoint() const { return endpoint_; }  // without a trailing slash
  const std::string& sas() const { return sas_; }            // query of a URL; "": none

  // The value of the header Authorization; "": none. `text` is the text for a Shared Key signature.
  Result<std::string> authorization(const std::string& text, const std::string& refused = "");
  bool signs() const { return !key_.empty(); }

  const std::string& source() const { return source_; }

 private:
  std::string account_, endpoint_, key_, sas_, source_ = "none";
  std::unique_ptr<BearerToken> token_;
};

}  // namespace hone
