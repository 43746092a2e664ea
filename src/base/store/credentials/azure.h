// Finds credentials for Azure Blob storage.
//
// The account is that of the URL if it names one. If AZURE_STORAGE_CONNECTION_STRING is set, it gives the credentials,
// and the account for URLs without one. Else the account is AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_ACCOUNT_NAME, and
// the first of these sources gives the credentials:
//   1. the account key AZURE_STORAGE_KEY or AZURE_STORAGE_ACCOUNT_KEY
//   2. the shared access signature AZURE_STORAGE_SAS_TOKEN
//   3. AZURE_TENANT_ID and AZURE_CLIENT_ID, with AZURE_FEDERATED_TOKEN_FILE (workload identity) or AZURE_CLIENT_SECRET
//   4. the managed identity of the machine, from IDENTITY_ENDPOINT or the metadata server
// If no source has credentials, requests are not signed.
#pragma once

#include <memory>
#include <string>

#include "base/store/credentials/bearer.h"
#include "base/store/http.h"

namespace hone {

class AzureCredentials {
 public:
  // Finds the credentials. `account` is the storage account that the URL names; "": it names none. Error H0119 if no
  // account is known, or the account key is not base64.
  static Result<std::unique_ptr<AzureCredentials>> find(const std::string& account,
                                                        HttpClient::Options http = {});

  const std::string& account() const { return account_; }
  // The URL of the storage service, without a slash at the end.
  const std::string& endpoint() const { return endpoint_; }
  // The shared access signature to add to the query of a URL; "": none.
  const std::string& sas() const { return sas_; }

  // The value for the header Authorization; "": send no such header. With an account key it is a Shared Key signature
  // of `text`; else it is an access token. `refused` is the value that the server has just refused, or "". Errors:
  // those of BearerToken::get().
  Result<std::string> authorization(const std::string& text, const std::string& refused = "");
  bool signs() const { return !key_.empty(); }  // there is an account key

  const std::string& source() const { return source_; }  // the source, for messages

 private:
  std::string account_, endpoint_, key_, sas_, source_ = "none";
  std::unique_ptr<BearerToken> token_;
};

}  // namespace hone
