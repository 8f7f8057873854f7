"""Both OpenAPI documents, held against what is answered to whatever they let anybody send."""
