import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.zip.GZIPInputStream;

/** Asks as Java programs do: HttpClient decodes nothing itself, GZIPInputStream decodes gzip. */
public class Ask {
    public static void main(String[] arguments) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(arguments[0]))
            .header("Authorization", "Bearer " + arguments[1])
            .header("Accept-Encoding", "gzip")
            .build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofInputStream());
        String coding = answer.headers().firstValue("content-encoding").orElse("identity");
        if (answer.statusCode() != 200 || !coding.equals("gzip")) {
            throw new IllegalStateException(answer.statusCode() + " " + coding);
        }
        new GZIPInputStream(answer.body()).transferTo(System.out);
        System.out.flush();
    }
}
