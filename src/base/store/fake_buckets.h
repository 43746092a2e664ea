// For tests: starts tools/fake_buckets.py, a server that imitates the object stores of Google, AWS and Azure. Also sets
// the environment variables of these clouds to the address of the server, so that hone uses it.
#pragma once

#include "base/store/fake_hub.h"
#include "base/store/http.h"

namespace hone {

class FakeBuckets : public FakeServer {
 public:
  // Starts the server with these arguments. Returns false if there is no python3.
  bool start(std::vector<std::string> arguments = {}) {
    if (!FakeServer::start("fake_buckets.py", std::move(arguments))) return false;
    for (const char* name :
         {"GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST", "CLOUDSDK_AUTH_ACCESS_TOKEN",
          "AWS_SESSION_TOKEN", "AWS_PROFILE", "http_proxy"})
      ::unsetenv(name);
    const std::pair<const char*, std::string> values[] = {
        {"STORAGE_EMULATOR_HOST", endpoint()},
        {"GOOGLE_CLOUD_PROJECT", "p1"},
        {"AWS_ENDPOINT_URL_S3", endpoint()},
        {"AWS_ACCESS_KEY_ID", "hone-test-id"},
        {"AWS_SECRET_ACCESS_KEY", "hone-test-secret"},
        {"AWS_REGION", "us-east-1"},
        {"AZURE_STORAGE_CONNECTION_STRING",
         fmt::format("AccountName=devstoreaccount1;AccountKey={};BlobEndpoint={}/devstoreaccount1",
                     kAzureKey, endpoint())},
        {"no_proxy", "127.0.0.1,localhost"}};
    for (const auto& [name, value] : values) ::setenv(name, value.c_str(), 1);
    return true;
  }

  // Makes the next requests fail: "kind=status&match=/o/&count=2" is a fault of kind "status" for the next two requests
  // whose address has "/o/" in it. fake_buckets.py lists the kinds.
  void fault(const std::string& query) {
    ASSERT_TRUE(HttpClient().get(endpoint() + "/_fault?" + query).ok());
  }
  // Sets the server's clock ahead of the machine's by `seconds`.
  void set_clock(double seconds) {
    ASSERT_TRUE(HttpClient().get(fmt::format("{}/_clock?seconds={}", endpoint(), seconds)).ok());
  }
  // The requests since the last call, as a JSON text.
  std::string log() { return HttpClient().get(endpoint() + "/_log?clear=1")->body; }

 private:
  // The well-known account key of Microsoft's storage emulator.
  static constexpr const char* kAzureKey =
      "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
};

}  // namespace hone
